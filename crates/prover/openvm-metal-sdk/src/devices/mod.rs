//! The devices of a proof: their names, how they are opened, and which of them makes which proof when.

mod fleet;
mod list;
mod load;
mod station;
mod turns;

pub(crate) use fleet::{Fleet, Refused};
pub use list::{DeviceList, DeviceListError};
pub(crate) use load::Capacity;
pub(crate) use station::on_each;
pub use station::Station;
pub(crate) use turns::{Reservation, Turns, Work};
