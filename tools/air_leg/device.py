"""Mesa's software driver for Vulkan (lavapipe), one dispatch at a time."""

import os

import numpy as np

from .air import LANES

os.environ.setdefault("VK_ICD_FILENAMES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
# A SIMD-group is as wide as the driver's vectors; its store of compiled kernels does not know how wide they are.
os.environ["LP_NATIVE_VECTOR_WIDTH"] = str(32 * LANES)
os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"

import vulkan as vk  # noqa: E402


class Device:
    def __init__(self):
        application = vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        self.instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
        self.physical = vk.vkEnumeratePhysicalDevices(self.instance)[0]
        eleven = vk.VkPhysicalDeviceVulkan11Properties()
        vk.vkGetPhysicalDeviceProperties2(self.physical, vk.VkPhysicalDeviceProperties2(pNext=eleven))
        if eleven.subgroupSize != LANES:
            raise RuntimeError(f"SIMD-groups have {eleven.subgroupSize} threads, not {LANES}")
        twelve = vk.VkPhysicalDeviceVulkan12Features(shaderInt8=1, storageBuffer8BitAccess=1, scalarBlockLayout=1)
        more = vk.VkPhysicalDeviceVulkan11Features(
            pNext=twelve, variablePointers=1, variablePointersStorageBuffer=1, storageBuffer16BitAccess=1
        )
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, pQueuePriorities=[1.0])
        features = vk.VkPhysicalDeviceFeatures(shaderInt64=1, shaderInt16=1)
        info = vk.VkDeviceCreateInfo(pNext=more, pQueueCreateInfos=[queue], pEnabledFeatures=features)
        self.device = vk.vkCreateDevice(self.physical, info, None)
        self.queue = vk.vkGetDeviceQueue(self.device, 0, 0)
        self.pool = vk.vkCreateCommandPool(self.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=0), None)

    def _buffer(self, size):
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        buffer = vk.vkCreateBuffer(self.device, vk.VkBufferCreateInfo(size=size, usage=usage), None)
        needed = vk.vkGetBufferMemoryRequirements(self.device, buffer)
        # The driver has one kind of memory, which the host sees.
        memory = vk.vkAllocateMemory(
            self.device, vk.VkMemoryAllocateInfo(allocationSize=needed.size, memoryTypeIndex=0), None
        )
        vk.vkBindBufferMemory(self.device, buffer, memory, 0)
        return buffer, memory, vk.vkMapMemory(self.device, memory, 0, size, 0)

    def pipeline(self, spirv, bindings):
        """A kernel's pipeline, for storage buffers at `bindings`."""
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        slots = [vk.VkDescriptorSetLayoutBinding(b, kind, 1, vk.VK_SHADER_STAGE_COMPUTE_BIT) for b in bindings]
        layout = vk.vkCreateDescriptorSetLayout(self.device, vk.VkDescriptorSetLayoutCreateInfo(pBindings=slots), None)
        whole = vk.vkCreatePipelineLayout(self.device, vk.VkPipelineLayoutCreateInfo(pSetLayouts=[layout]), None)
        module = vk.vkCreateShaderModule(
            self.device, vk.VkShaderModuleCreateInfo(codeSize=len(spirv), pCode=spirv), None
        )
        stage = vk.VkPipelineShaderStageCreateInfo(stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName="main")
        info = vk.VkComputePipelineCreateInfo(stage=stage, layout=whole)
        made = vk.vkCreateComputePipelines(self.device, vk.VK_NULL_HANDLE, 1, [info], None)
        return made[0], whole, layout

    def run(self, pipeline, arguments, groups):
        """Runs `groups` threadgroups; every argument (binding: array) as the kernel leaves it."""
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        made, whole, layout = pipeline
        sizes = [vk.VkDescriptorPoolSize(kind, len(arguments))]
        pool = vk.vkCreateDescriptorPool(self.device, vk.VkDescriptorPoolCreateInfo(maxSets=1, pPoolSizes=sizes), None)
        sets = vk.vkAllocateDescriptorSets(
            self.device, vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=[layout])
        )
        held, writes = {}, []
        for binding, array in arguments.items():
            buffer, memory, mapped = self._buffer(max(array.nbytes, 16))
            mapped[: array.nbytes] = array.tobytes()
            held[binding] = (buffer, memory, mapped)
            about = [vk.VkDescriptorBufferInfo(buffer, 0, max(array.nbytes, 16))]
            writes.append(
                vk.VkWriteDescriptorSet(dstSet=sets[0], dstBinding=binding, descriptorType=kind, pBufferInfo=about)
            )
        vk.vkUpdateDescriptorSets(self.device, len(writes), writes, 0, None)
        commands = vk.vkAllocateCommandBuffers(
            self.device, vk.VkCommandBufferAllocateInfo(commandPool=self.pool, commandBufferCount=1)
        )
        vk.vkBeginCommandBuffer(commands[0], vk.VkCommandBufferBeginInfo())
        vk.vkCmdBindPipeline(commands[0], vk.VK_PIPELINE_BIND_POINT_COMPUTE, made)
        vk.vkCmdBindDescriptorSets(commands[0], vk.VK_PIPELINE_BIND_POINT_COMPUTE, whole, 0, 1, sets, 0, None)
        vk.vkCmdDispatch(commands[0], *groups)
        vk.vkEndCommandBuffer(commands[0])
        vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=commands)], vk.VK_NULL_HANDLE)
        vk.vkQueueWaitIdle(self.queue)
        left = {b: np.frombuffer(bytes(held[b][2][: a.nbytes]), a.dtype) for b, a in arguments.items()}
        for buffer, memory, _ in held.values():
            vk.vkDestroyBuffer(self.device, buffer, None)
            vk.vkFreeMemory(self.device, memory, None)
        vk.vkDestroyDescriptorPool(self.device, pool, None)
        return left
