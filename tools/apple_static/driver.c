// Compiles each kernel of a SPIR-V file with Mesa's compiler for Apple GPUs and prints one JSON object a kernel: size,
// registers, scratch, and what each loop and the code around it costs. Nothing is run.
//
//   apple-static-driver FILE.spv KERNEL:CONSTANT-ARGUMENTS...
//
// CONSTANT-ARGUMENTS is a number; bit i says that argument i is a `constant` buffer, whose loads do not depend on stores.
// Costs are cycles of one SIMD-group of 32 lanes, see `cost` below; Mesa's own estimate is replaced by it, because it
// is called when a kernel has its final instructions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "asahi/compiler/agx_compile.h"
#include "asahi/compiler/agx_compiler.h"
#include "compiler/glsl_types.h"
#include "compiler/spirv/nir_spirv.h"
#include "nir.h"
#include "nir_builder.h"

// ---- what an instruction costs --------------------------------------------------------------------
// Throughput of Apple7 and Apple8 as measured by github.com/philipturner/metal-benchmarks: the multiplier pipe and the
// other one overlap, so both are summed apart.
struct cost {
   double multiplier, other;
   unsigned instructions, device_loads, device_stores, load_bytes, store_bytes, local;
};

static void
add(struct cost *a, const struct cost *b, double times)
{
   a->multiplier += times * b->multiplier;
   a->other += times * b->other;
   a->instructions += b->instructions;
   a->device_loads += b->device_loads;
   a->device_stores += b->device_stores;
   a->load_bytes += b->load_bytes;
   a->store_bytes += b->store_bytes;
   a->local += b->local;
}

static unsigned
memory_bytes(const agx_instr *I)
{
   static const unsigned size[] = {
      [AGX_FORMAT_I8] = 1, [AGX_FORMAT_I16] = 2, [AGX_FORMAT_I32] = 4,
      [AGX_FORMAT_F16] = 2, [AGX_FORMAT_U8NORM] = 1, [AGX_FORMAT_S8NORM] = 1,
      [AGX_FORMAT_U16NORM] = 2, [AGX_FORMAT_S16NORM] = 2,
   };
   unsigned each = I->format < ARRAY_SIZE(size) && size[I->format] ? size[I->format] : 4;
   return each * util_bitcount(I->mask);
}

static struct cost
instruction_cost(const agx_instr *I)
{
   struct cost c = {.instructions = 1};
   bool wide = I->nr_dests && I->dest[0].size == AGX_SIZE_64;
   switch (I->op) {
   case AGX_OPCODE_IMAD:
      c.multiplier = wide ? 8 : 4;
      break;
   case AGX_OPCODE_BFI:
   case AGX_OPCODE_BFEIL:
   case AGX_OPCODE_EXTR:
   case AGX_OPCODE_ASR:
   case AGX_OPCODE_INTL:
   case AGX_OPCODE_BITREV:
   case AGX_OPCODE_POPCOUNT:
   case AGX_OPCODE_FFS:
      c.multiplier = 4;
      break;
   case AGX_OPCODE_IADD:
      c.other = wide ? 4.7 : 1;
      break;
   case AGX_OPCODE_GET_SR:
   case AGX_OPCODE_SHUFFLE:
   case AGX_OPCODE_SHUFFLE_XOR:
   case AGX_OPCODE_SHUFFLE_UP:
   case AGX_OPCODE_SHUFFLE_DOWN:
      c.other = 2;
      break;
   case AGX_OPCODE_SIMD_REDUCE:
   case AGX_OPCODE_SIMD_PREFIX:
      c.other = 17;
      break;
   case AGX_OPCODE_DEVICE_LOAD:
      c.other = 1;
      c.device_loads = 1;
      c.load_bytes = memory_bytes(I);
      break;
   case AGX_OPCODE_DEVICE_STORE:
      c.other = 1;
      c.device_stores = 1;
      c.store_bytes = memory_bytes(I);
      break;
   case AGX_OPCODE_LOCAL_LOAD:
   case AGX_OPCODE_LOCAL_STORE:
   case AGX_OPCODE_LOCAL_ATOMIC:
      c.other = 1;
      c.local = 1;
      break;
   case AGX_OPCODE_WAIT:
      break;
   default:
      c.other = 1;
   }
   return c;
}

// Bytes of scratch memory before the first array: Mesa turns scratch memory of up to 256 bytes into variables again.
#define SCRATCH_START 256

// ---- loops ----------------------------------------------------------------------------------------
#define MAX_LOOPS 256

struct loop {
   int parent;            // -1: the kernel itself
   unsigned first, last;  // blocks
   int trips;             // 0: not known when it is compiled
   bool conditional;      // under a condition within the loop around it
};

// Trip counts in the order of loop headers; taken before instructions are selected.
static int trips[MAX_LOOPS];
static bool conditional[MAX_LOOPS];
static unsigned nr_trips;

static void
collect_trips(struct exec_list *list, bool condition)
{
   foreach_list_typed(nir_cf_node, node, node, list) {
      if (node->type == nir_cf_node_if) {
         collect_trips(&nir_cf_node_as_if(node)->then_list, true);
         collect_trips(&nir_cf_node_as_if(node)->else_list, true);
      } else if (node->type == nir_cf_node_loop && nr_trips < MAX_LOOPS) {
         nir_loop *loop = nir_cf_node_as_loop(node);
         // Mesa counts jumps back to the header; LLVM's loops end at their bottom.
         conditional[nr_trips] = condition;
         trips[nr_trips++] = loop->info->exact_trip_count_known ? (int)loop->info->max_trip_count + 1 : 0;
         collect_trips(&loop->body, false);
      }
   }
}

static struct {
   unsigned nr_loops, array_bytes, spill_bytes;
   struct loop loops[MAX_LOOPS];
   struct cost costs[MAX_LOOPS + 1];  // [0]: outside of loops
   struct cost edges[MAX_LOOPS];      // of a loop under a condition: what runs before and after it under that condition
} result;

struct agx_cycle_estimate
agx_estimate_cycles(agx_context *ctx)
{
   memset(&result, 0, sizeof(result));
   unsigned n = 0;
   agx_foreach_block(ctx, block) {
      block->index = n++;
   }
   agx_foreach_block(ctx, block) {
      if (block->loop_header && result.nr_loops < MAX_LOOPS) {
         result.loops[result.nr_loops++] = (struct loop){.parent = -1, .first = block->index, .last = block->index};
      }
   }
   agx_foreach_block(ctx, block) {
      agx_foreach_successor(block, next) {
         for (unsigned l = 0; l < result.nr_loops; l++) {
            struct loop *loop = &result.loops[l];
            if (next->index == loop->first && block->index >= next->index) {
               loop->last = MAX2(loop->last, block->index);
            }
         }
      }
   }
   for (unsigned l = 0; l < result.nr_loops; l++) {
      for (unsigned k = 0; k < l; k++) {
         if (result.loops[k].first < result.loops[l].first && result.loops[l].last <= result.loops[k].last) {
            result.loops[l].parent = k;
         }
      }
      bool known = nr_trips == result.nr_loops;
      result.loops[l].trips = known ? trips[l] : 0;
      result.loops[l].conditional = known && conditional[l];
   }
   agx_foreach_block(ctx, block) {
      int inner = -1, edge = -1;
      for (unsigned l = 0; l < result.nr_loops; l++) {
         struct loop *loop = &result.loops[l];
         if (block->index >= loop->first && block->index <= loop->last) inner = l;
         // A condition's list begins and ends with a block.
         else if (loop->conditional && (block->index + 1 == loop->first || block->index == loop->last + 1)) edge = l;
      }
      bool at_edge = edge >= 0 && result.loops[edge].parent == inner;
      agx_foreach_instr_in_block(block, I) {
         struct cost c = instruction_cost(I);
         add(at_edge ? &result.edges[edge] : &result.costs[inner + 1], &c, 1);
      }
   }
   // Arrays come first in scratch memory, spilled registers follow.
   unsigned arrays = ctx->nir->scratch_size;
   result.array_bytes = arrays > SCRATCH_START ? arrays - SCRATCH_START : 0;
   result.spill_bytes = ctx->scratch_size_B - MIN2(ctx->scratch_size_B, ALIGN(arrays, 16));
   return (struct agx_cycle_estimate){0};
}

// ---- compilation ----------------------------------------------------------------------------------
static void
print_message(void *data, enum nir_spirv_debug_level level, size_t offset, const char *message)
{
   if (level >= NIR_SPIRV_DEBUG_LEVEL_ERROR) fprintf(stderr, "%s\n", message);
}

static const struct spirv_to_nir_options spirv_options = {
   .environment = NIR_SPIRV_OPENCL,
   .shared_addr_format = nir_address_format_32bit_offset_as_64bit,
   .global_addr_format = nir_address_format_64bit_global,
   .temp_addr_format = nir_address_format_62bit_generic,
   .constant_addr_format = nir_address_format_64bit_global,
   .subgroup_size = SUBGROUP_SIZE_UNIFORM,
   .debug = {.func = print_message},
};

// Arguments are uniform registers, as Apple's driver gives buffers to a kernel; 16-bit units.
#define ARGUMENT_UNIFORMS 128
#define TABLES_UNIFORM (ARGUMENT_UNIFORMS - 4)
#define SIZE_UNIFORM (TABLES_UNIFORM - 8)

static uint64_t constant_arguments;  // byte offset / 8 of arguments that are `constant` buffers

static bool
arguments_to_uniforms(nir_builder *b, nir_intrinsic_instr *intr, void *data)
{
   b->cursor = nir_before_instr(&intr->instr);
   nir_def *value;
   if (intr->intrinsic == nir_intrinsic_load_kernel_input) {
      unsigned offset = nir_src_as_uint(intr->src[0]) + nir_intrinsic_base(intr);
      value = nir_load_preamble(b, intr->def.num_components, intr->def.bit_size, .base = offset / 2);
   } else if (intr->intrinsic == nir_intrinsic_load_workgroup_size) {
      value = nir_load_preamble(b, 3, 32, .base = SIZE_UNIFORM);
   } else if (intr->intrinsic == nir_intrinsic_load_constant_base_ptr) {
      value = nir_load_preamble(b, 1, 64, .base = TABLES_UNIFORM);
   } else {
      return false;
   }
   nir_def_replace(&intr->def, value);
   return true;
}

// The argument that an address is computed from, or -1.
static int
base_argument(nir_scalar s)
{
   for (unsigned depth = 0; depth < 16; depth++) {
      s = nir_scalar_chase_movs(s);
      if (nir_scalar_is_intrinsic(s)) {
         nir_intrinsic_instr *intr = nir_instr_as_intrinsic(s.def->parent_instr);
         return intr->intrinsic == nir_intrinsic_load_preamble ? (int)nir_intrinsic_base(intr) / 4 : -1;
      }
      if (!nir_scalar_is_alu(s) || nir_scalar_alu_op(s) != nir_op_iadd) return -1;
      nir_scalar left = nir_scalar_chase_alu_src(s, 0);
      int found = base_argument(left);
      if (found >= 0) return found;
      s = nir_scalar_chase_alu_src(s, 1);
   }
   return -1;
}

static bool
constant_buffers(nir_builder *b, nir_intrinsic_instr *intr, void *data)
{
   if (intr->intrinsic != nir_intrinsic_load_global) return false;
   int argument = base_argument(nir_get_scalar(intr->src[0].ssa, 0));
   if (argument < 0 || argument >= 64 || !(constant_arguments >> argument & 1)) return false;
   intr->intrinsic = nir_intrinsic_load_global_constant;
   nir_intrinsic_set_access(intr, ACCESS_CAN_REORDER | ACCESS_NON_WRITEABLE);
   return true;
}

static void
optimize(nir_shader *nir)
{
   bool progress;
   do {
      progress = false;
      NIR_PASS(progress, nir, nir_split_var_copies);
      NIR_PASS(progress, nir, nir_split_struct_vars, nir_var_function_temp);
      NIR_PASS(progress, nir, nir_split_array_vars, nir_var_function_temp);
      NIR_PASS(progress, nir, nir_lower_var_copies);
      NIR_PASS(progress, nir, nir_lower_vars_to_ssa);
      NIR_PASS(progress, nir, nir_copy_prop);
      NIR_PASS(progress, nir, nir_opt_remove_phis);
      NIR_PASS(progress, nir, nir_lower_phis_to_scalar, true);
      NIR_PASS(progress, nir, nir_opt_dce);
      NIR_PASS(progress, nir, nir_opt_dead_cf);
      NIR_PASS(progress, nir, nir_opt_cse);
      NIR_PASS(progress, nir, nir_opt_peephole_select, 8, false, true);
      NIR_PASS(progress, nir, nir_opt_algebraic);
      NIR_PASS(progress, nir, nir_opt_constant_folding);
      NIR_PASS(progress, nir, nir_opt_deref);
      NIR_PASS(progress, nir, nir_opt_copy_prop_vars);
      NIR_PASS(progress, nir, nir_opt_dead_write_vars);
      NIR_PASS(progress, nir, nir_opt_undef);
      NIR_PASS(progress, nir, nir_lower_undef_to_zero);
      NIR_PASS(progress, nir, nir_opt_loop);
      NIR_PASS(progress, nir, nir_opt_loop_unroll);
   } while (progress);
}

/* Addresses in scratch memory have 32 bits on the device. */
static bool
narrow_scratch(nir_builder *b, nir_intrinsic_instr *instr, void *data)
{
   bool load = instr->intrinsic == nir_intrinsic_load_scratch;
   if (!load && instr->intrinsic != nir_intrinsic_store_scratch) return false;
   nir_src *offset = &instr->src[load ? 0 : 1];
   if (offset->ssa->bit_size == 32) return false;
   b->cursor = nir_before_instr(&instr->instr);
   nir_src_rewrite(offset, nir_u2u32(b, offset->ssa));
   return true;
}

static nir_shader *
translate(const uint32_t *words, size_t count, const char *kernel)
{
   nir_shader *nir = spirv_to_nir(words, count, NULL, 0, MESA_SHADER_KERNEL, kernel, &spirv_options, &agx_nir_options);
   if (!nir) return NULL;
   nir->info.workgroup_size_variable = true;
   nir->info.stage = MESA_SHADER_COMPUTE;
   NIR_PASS(_, nir, nir_lower_variable_initializers, nir_var_function_temp);
   NIR_PASS(_, nir, nir_lower_returns);
   NIR_PASS(_, nir, nir_inline_functions);
   NIR_PASS(_, nir, nir_copy_prop);
   NIR_PASS(_, nir, nir_opt_deref);
   nir_remove_non_entrypoints(nir);
   NIR_PASS(_, nir, nir_lower_system_values);
   NIR_PASS(_, nir, nir_lower_variable_initializers, ~(nir_var_function_temp | nir_var_mem_constant));
   NIR_PASS(_, nir, nir_lower_compute_system_values,
            &(nir_lower_compute_system_values_options){.global_id_is_32bit = true});
   NIR_PASS(_, nir, nir_lower_vars_to_explicit_types,
            nir_var_uniform | nir_var_shader_temp | nir_var_function_temp | nir_var_mem_shared | nir_var_mem_global |
               nir_var_mem_constant,
            glsl_get_cl_type_size_align);
   NIR_PASS(_, nir, nir_lower_memcpy);
   optimize(nir);
   NIR_PASS(_, nir, nir_remove_dead_variables, nir_var_function_temp | nir_var_shader_temp, NULL);
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_uniform, nir_address_format_32bit_offset_as_64bit);
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_mem_constant | nir_var_mem_global, nir_address_format_64bit_global);
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_mem_shared, nir_address_format_32bit_offset_as_64bit);
   // Arrays with an index known only at run time lie in memory, as in Apple's compiler; Mesa would choose by comparing.
   // What it counted so far are registers by now.
   nir->scratch_size = SCRATCH_START;
   NIR_PASS(_, nir, nir_lower_vars_to_scratch, nir_var_function_temp, 16, glsl_get_natural_size_align_bytes,
            glsl_get_word_size_align_bytes);
   // What is read of them as one vector: at another address, at the same cost.
   NIR_PASS(_, nir, nir_lower_explicit_io, nir_var_function_temp, nir_address_format_32bit_offset_as_64bit);
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, narrow_scratch, nir_metadata_control_flow, NULL);
   NIR_PASS(_, nir, nir_lower_convert_alu_types, NULL);
   optimize(nir);
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, arguments_to_uniforms, nir_metadata_control_flow, NULL);
   NIR_PASS(_, nir, nir_copy_prop);
   NIR_PASS(_, nir, nir_shader_intrinsics_pass, constant_buffers, nir_metadata_control_flow, NULL);
   optimize(nir);
   // Threadgroups of 256 threads: Mesa spills rather than use registers that so many threads do not have.
   nir->info.workgroup_size_variable = false;
   nir->info.workgroup_size[0] = 256;
   nir->info.workgroup_size[1] = nir->info.workgroup_size[2] = 1;
   return nir;
}

static void
print_cost(const char *name, const struct cost *c)
{
   printf("\"%s\": {\"instructions\": %u, \"multiplier\": %.1f, \"other\": %.1f, \"device_loads\": %u, \"load_bytes\": %u, "
          "\"device_stores\": %u, \"store_bytes\": %u, \"threadgroup\": %u}",
          name, c->instructions, c->multiplier, c->other, c->device_loads, c->load_bytes, c->device_stores,
          c->store_bytes, c->local);
}

int
main(int argc, char **argv)
{
   if (argc < 3) {
      fprintf(stderr, "apple-static-driver FILE.spv KERNEL:CONSTANT-ARGUMENTS...\n");
      return 2;
   }
   FILE *file = fopen(argv[1], "rb");
   if (!file) {
      perror(argv[1]);
      return 2;
   }
   fseek(file, 0, SEEK_END);
   size_t size = ftell(file);
   rewind(file);
   uint32_t *words = malloc(size);
   if (fread(words, 1, size, file) != size) {
      perror(argv[1]);
      return 2;
   }
   fclose(file);
   glsl_type_singleton_init_or_ref();
   for (int a = 2; a < argc; a++) {
      char *colon = strchr(argv[a], ':');
      constant_arguments = colon ? strtoull(colon + 1, NULL, 0) : 0;
      if (colon) *colon = 0;
      nir_shader *nir = translate(words, size / 4, argv[a]);
      if (!nir) {
         fprintf(stderr, "%s: no such kernel, or its SPIR-V is not understood\n", argv[a]);
         return 1;
      }
      agx_preprocess_nir(nir, NULL);
      nr_trips = 0;
      nir_foreach_function_impl(impl, nir) {
         nir_metadata_require(impl, nir_metadata_loop_analysis, nir_var_all, false);
         collect_trips(&impl->body, false);
      }
      struct agx_shader_key key = {
         .promote_constants = true,
         .has_scratch = true,
         .reserved_preamble = ARGUMENT_UNIFORMS,
         .libagx = nir,
      };
      struct agx_shader_part part;
      agx_compile_shader_nir(nir, &key, NULL, &part);
      struct agx_shader_info *info = &part.info;
      printf("{\"kernel\": \"%s\", \"bytes\": %u, \"half_registers\": %u, \"threads\": %u, \"array_bytes\": %u, "
             "\"spill_bytes\": %u, \"threadgroup_bytes\": %u, ",
             argv[a], info->main_size, info->nr_gprs, agx_occupancy_for_register_count(info->nr_gprs).max_threads,
             result.array_bytes, result.spill_bytes, info->local_size);
      print_cost("outside", &result.costs[0]);
      printf(", \"loops\": [");
      for (unsigned l = 0; l < result.nr_loops; l++) {
         printf("%s{\"parent\": %d, \"trips\": %d, \"conditional\": %s, ", l ? ", " : "", result.loops[l].parent, result.loops[l].trips,
                result.loops[l].conditional ? "true" : "false");
         print_cost("body", &result.costs[l + 1]);
         printf(", ");
         print_cost("edges", &result.edges[l]);
         printf("}");
      }
      printf("]}\n");
      fflush(stdout);
      ralloc_free(nir);
   }
   return 0;
}
