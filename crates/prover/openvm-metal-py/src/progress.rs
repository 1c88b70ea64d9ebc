//! Events of a proof for a function of the user.

use std::sync::{atomic::Ordering, PoisonError};

use openvm_metal_sdk::{Event, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::work::Stop;

/// Calls the user's function with each event. An exception from it ends the work.
pub struct Watcher<'a> {
    pub function: Option<&'a Py<PyAny>>,
    pub stop: &'a Stop,
}

impl Progress for Watcher<'_> {
    fn event(&self, event: Event<'_>) {
        let Some(function) = self.function else {
            return;
        };
        Python::attach(|py| {
            let called = describe(py, event).and_then(|(name, fields)| {
                function.bind(py).call((name,), Some(&fields)).map(drop)
            });
            if let Err(error) = called {
                self.stop.flag.store(true, Ordering::Relaxed);
                let failed = &self.stop.failed;
                failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
            }
        });
    }
}

fn describe<'py>(
    py: Python<'py>,
    event: Event<'_>,
) -> PyResult<(&'static str, Bound<'py, PyDict>)> {
    let fields = PyDict::new(py);
    let of_segment = |name, segment: usize, instructions: u64| {
        fields.set_item("segment", segment)?;
        fields.set_item("instructions", instructions)?;
        Ok::<_, PyErr>(name)
    };
    let refused = |device: &str, reason: &str, excluded: bool| {
        fields.set_item("device", device)?;
        fields.set_item("reason", reason)?;
        fields.set_item("excluded", excluded)
    };
    let name = match event {
        Event::Preparing { work } => {
            fields.set_item("work", work)?;
            "preparing"
        }
        Event::SegmentExecuted {
            segment,
            instructions,
        } => of_segment("segment_executed", segment, instructions)?,
        Event::SegmentTraced {
            segment,
            instructions,
        } => of_segment("segment_traced", segment, instructions)?,
        Event::SegmentResumed {
            segment,
            instructions,
        } => of_segment("segment_resumed", segment, instructions)?,
        Event::SegmentProved {
            segment,
            instructions,
            device,
        } => {
            fields.set_item("device", device)?;
            of_segment("segment_proved", segment, instructions)?
        }
        Event::Executed {
            segments,
            instructions,
        } => {
            fields.set_item("segments", segments)?;
            fields.set_item("instructions", instructions)?;
            "executed"
        }
        Event::InputUnread(unread) => {
            fields.set_item("given", unread.given)?;
            fields.set_item("values", unread.values)?;
            fields.set_item("bytes", unread.bytes)?;
            fields.set_item("rest", unread.rest)?;
            "input_unread"
        }
        Event::NodesCounted { nodes } => {
            fields.set_item("nodes", nodes)?;
            "nodes_counted"
        }
        Event::SetAside { file, to, reason } => {
            fields.set_item("file", file)?;
            fields.set_item("to", to)?;
            fields.set_item("reason", reason)?;
            "set_aside"
        }
        Event::SegmentRefused {
            segment,
            device,
            reason,
            excluded,
        } => {
            fields.set_item("segment", segment)?;
            refused(device, reason, excluded)?;
            "segment_refused"
        }
        Event::NodeRefused {
            layer,
            node,
            device,
            reason,
            excluded,
        } => {
            fields.set_item("layer", layer)?;
            fields.set_item("node", node)?;
            refused(device, reason, excluded)?;
            "node_refused"
        }
        Event::NodeResumed { layer, node, nodes } => {
            fields.set_item("layer", layer)?;
            fields.set_item("node", node)?;
            fields.set_item("nodes", nodes)?;
            "node_resumed"
        }
        Event::NodeProved {
            layer,
            node,
            nodes,
            device,
        } => {
            fields.set_item("layer", layer)?;
            fields.set_item("node", node)?;
            fields.set_item("nodes", nodes)?;
            fields.set_item("device", device)?;
            "node_proved"
        }
        Event::Verified => "verified",
        _ => "other",
    };
    Ok((name, fields))
}
