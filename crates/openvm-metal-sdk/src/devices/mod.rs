//! The devices that programs are proved on: which they are, how they are opened, and which of them proves what when.

mod fleet;
mod list;
mod station;
mod turns;

pub(crate) use fleet::Fleet;
pub use list::{DeviceList, DeviceListError};
pub(crate) use station::on_each;
pub use station::Station;
pub(crate) use turns::{Reservation, Turns, Work};
