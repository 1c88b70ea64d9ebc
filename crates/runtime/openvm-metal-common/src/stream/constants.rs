//! Data that never changes, on the device.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex};

use super::CommandStream;
use crate::buffer::MetalBuffer;
use crate::elem::DeviceElem;
use crate::error::Result;
use crate::lock;

/// The copies of one handle and its clones.
#[derive(Default)]
pub(super) struct Constants(Mutex<Vec<Constant>>);

struct Constant {
    /// Address and length of the data, and the type of its elements.
    of: (usize, usize, TypeId),
    copy: Arc<dyn Any + Send + Sync>,
}

impl CommandStream {
    /// `data` on the device. The first call of this handle or of a clone copies it; the copy is kept until the last of them is dropped.
    ///
    /// # Errors
    /// If the memory is not left, or the device fails.
    pub fn constant<T: DeviceElem>(&self, data: &'static [T]) -> Result<Arc<MetalBuffer<T>>> {
        let of = (data.as_ptr() as usize, data.len(), TypeId::of::<T>());
        let mut constants = lock(&self.constants.0);
        let known = constants.iter().find(|constant| constant.of == of);
        let known = known.and_then(|constant| constant.copy.clone().downcast().ok());
        if let Some(copy) = known {
            return Ok(copy);
        }
        let copy = Arc::new(MetalBuffer::from_host(self, data)?);
        constants.push(Constant {
            of,
            copy: copy.clone(),
        });
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, MetalContext};

    static SQUARES: [u32; 5] = [0, 1, 4, 9, 16];

    #[test]
    fn one_copy_for_a_handle_and_its_clones() {
        let context = MetalContext::new(Device::Cpu, &[]).unwrap();
        let uploaded = |s: &CommandStream| s.counters().total().bytes_h2d;
        let s = context.stream();
        let first = s.constant(&SQUARES[..]).unwrap();
        assert_eq!(first.to_host(&s).unwrap(), SQUARES);
        assert_eq!(uploaded(&s), 20);
        let again = s.clone().constant(&SQUARES[..]).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(uploaded(&s), 20);
        // Other data, and data of another type at the same place.
        assert_eq!(
            s.constant(&SQUARES[1..3]).unwrap().to_host(&s).unwrap(),
            [1, 4]
        );
        let array = s.constant(std::slice::from_ref(&SQUARES)).unwrap();
        assert_eq!(array.to_host(&s).unwrap(), [SQUARES]);
        assert_eq!(uploaded(&s), 48);
        // Another handle has its own, which goes with it.
        let live = context.memory().live;
        let other = context.stream();
        drop(other.constant(&SQUARES[..]).unwrap());
        assert!(context.memory().live > live);
        drop(other);
        assert_eq!(context.memory().live, live);
    }
}
