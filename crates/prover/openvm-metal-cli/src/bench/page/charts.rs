//! The pictures of the page, as SVG.

use std::collections::BTreeMap;

use plotters::{
    coord::ranged1d::{IntoSegmentedCoord, SegmentValue},
    prelude::*,
};

use crate::bench::{
    kernels::KernelResults,
    proofs::{CaseResult, Counts},
};

/// Width and height of a picture.
const SIZE: (u32, u32) = (960, 480);
/// Height of a bar with its gap.
const BAR: u32 = 26;
/// Height around the bars: axis and description.
const FRAME: u32 = 90;
/// Length of the axis of phases, in longest proofs: their names stand beside the bars.
const LEGEND: f64 = 1.45;
/// Room for the names of bars.
const NAMES: u32 = 330;
/// Phases shorter than this part of a proof are drawn together.
const LEAST_PART: f64 = 0.01;
const WAIT: RGBColor = RGBColor(38, 70, 130);
const BUSY: RGBColor = RGBColor(150, 185, 235);

type Drawn = Result<String, String>;

/// Draws into a picture of this height.
fn draw<'a>(
    height: u32,
    picture: impl FnOnce(
        &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn std::error::Error + 'a>>,
) -> Drawn {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (SIZE.0, height)).into_drawing_area();
        let drawn = area
            .fill(&WHITE)
            .map_err(|error| error.to_string())
            .and_then(|()| picture(&area).map_err(|error| error.to_string()))
            .and_then(|()| area.present().map_err(|error| error.to_string()));
        drawn?;
    }
    Ok(svg)
}

/// Products a second over products per byte, both logarithmic, with the roof that the measured peaks make.
pub fn roofline(results: &KernelResults) -> Drawn {
    let points: Vec<(f64, f64, &str)> = results
        .kernels
        .iter()
        .filter(|row| row.products_per_second > 0.0 && row.bytes_per_second > 0.0)
        .map(|row| {
            let intensity = row.products_per_second / row.bytes_per_second;
            (intensity, row.products_per_second, row.kernel.as_str())
        })
        .collect();
    let roof = &results.roof;
    let ridge = roof.products_per_second / roof.bytes_per_second;
    let least = points.iter().map(|p| p.0).fold(ridge / 10.0, f64::min) / 2.0;
    let most = points.iter().map(|p| p.0).fold(ridge * 10.0, f64::max) * 4.0;
    let low = points
        .iter()
        .map(|p| p.1)
        .fold(roof.products_per_second, f64::min)
        / 4.0;
    let allowed = |x: f64| (x * roof.bytes_per_second).min(roof.products_per_second);
    draw(SIZE.1, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(80)
            .build_cartesian_2d(
                (least..most).log_scale(),
                (low..roof.products_per_second * 2.0).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("field products per byte")
            .y_desc("field products per second")
            .x_label_formatter(&|x| format!("{x:.2}"))
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .draw()?;
        let line = [least, ridge, most].map(|x| (x, allowed(x)));
        chart.draw_series(LineSeries::new(line, BLACK.stroke_width(2)))?;
        for &(x, y, name) in &points {
            let near = y >= 0.6 * allowed(x);
            let colour = if near { WAIT } else { RED };
            chart.draw_series([EmptyElement::at((x, y))
                + Circle::new((0, 0), 4, colour.filled())
                + Text::new(name.to_owned(), (7, -6), ("sans-serif", 12).into_font())])?;
        }
        Ok(())
    })
}

/// The phases of a case, one bar for each engine.
pub fn phases(name: &str, cases: &[(&str, &CaseResult)]) -> Drawn {
    let longest = cases
        .iter()
        .map(|(_, case)| case.median_ms())
        .fold(0.0, f64::max);
    // The innermost spans, which do not hold each other.
    let leaves = |case: &CaseResult| -> BTreeMap<String, f64> {
        let holds = |path: &str| {
            let inner = format!("{path}/");
            case.spans_ms.keys().any(|other| other.starts_with(&inner))
        };
        let mut parts = BTreeMap::new();
        for (path, &ms) in &case.spans_ms {
            // What is done before a proof is not timed.
            let timed = path.contains('/');
            if timed && !holds(path) && ms >= LEAST_PART * longest {
                let short = path.rsplit('/').next().unwrap_or(path);
                *parts.entry(short.to_owned()).or_default() += ms;
            }
        }
        parts
    };
    let parts: Vec<BTreeMap<String, f64>> = cases.iter().map(|(_, case)| leaves(case)).collect();
    let mut names: Vec<&String> = parts.iter().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    let height = FRAME + 40 + (cases.len() as u32 * 2 * BAR).max(20 * names.len() as u32);
    draw(height, |area| {
        let engines: Vec<&str> = cases.iter().map(|(engine, _)| *engine).collect();
        let count = engines.len();
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .caption(name, ("sans-serif", 16))
            .x_label_area_size(42)
            .y_label_area_size(90)
            .build_cartesian_2d(0.0..longest * LEGEND, (0..count).into_segmented())?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_desc("milliseconds")
            .y_label_formatter(&|y| match y {
                SegmentValue::CenterOf(i) => engines.get(*i).copied().unwrap_or("").to_owned(),
                _ => String::new(),
            })
            .draw()?;
        let mut begun = vec![0.0; count];
        for (number, &name) in names.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let mut bars = Vec::new();
            for (i, parts) in parts.iter().enumerate() {
                let ms = parts.get(name).copied().unwrap_or(0.0);
                bars.push((i, begun[i], begun[i] + ms));
                begun[i] += ms;
            }
            chart
                .draw_series(bars.into_iter().map(|(i, from, to)| {
                    let corners = [
                        (from, SegmentValue::Exact(i)),
                        (to, SegmentValue::Exact(i + 1)),
                    ];
                    let mut bar = Rectangle::new(corners, colour.filled());
                    bar.set_margin(6, 6, 0, 0);
                    bar
                }))?
                .label(name.as_str())
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled())
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .margin(4)
            .border_style(BLACK.mix(0.2))
            .background_style(WHITE.mix(0.8))
            .draw()?;
        Ok(())
    })
}

/// One bar for each name, drawn by `bars` at its number from the top.
fn named_bars(
    names: &[&str],
    unit: &str,
    longest: f64,
    bars: &[Vec<(f64, f64, RGBColor)>],
) -> Drawn {
    let count = names.len();
    let height = FRAME + BAR * count as u32;
    draw(height, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(0.0..longest.max(1e-3) * 1.02, (0..count).into_segmented())?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(count)
            .x_desc(unit)
            .y_label_formatter(&|y| match y {
                SegmentValue::CenterOf(i) if *i < count => names[count - 1 - i].to_owned(),
                _ => String::new(),
            })
            .draw()?;
        for (i, parts) in bars.iter().enumerate() {
            let row = count - 1 - i;
            chart.draw_series(parts.iter().map(|&(from, to, colour)| {
                let corners = [
                    (from, SegmentValue::Exact(row)),
                    (to, SegmentValue::Exact(row + 1)),
                ];
                let mut bar = Rectangle::new(corners, colour.filled());
                bar.set_margin(3, 3, 0, 0);
                bar
            }))?;
        }
        Ok(())
    })
}

/// The innermost stages one after another, and the part of each that the host waits.
pub fn timeline(counts: &Counts) -> Drawn {
    let inner = |path: &str| {
        let prefix = format!("{path}/");
        !counts.stages.iter().any(|s| s.path.starts_with(&prefix))
    };
    let stages: Vec<_> = counts.stages.iter().filter(|s| inner(&s.path)).collect();
    let names: Vec<&str> = stages.iter().map(|s| s.path.as_str()).collect();
    let mut at = 0.0;
    let mut bars = Vec::new();
    for stage in &stages {
        let (waits, end) = (stage.wait_ms.min(stage.ms), at + stage.ms);
        bars.push(vec![(at, end - waits, BUSY), (end - waits, end, WAIT)]);
        at = end;
    }
    named_bars(&names, "milliseconds", at, &bars)
}

/// Most memory of each stage.
pub fn memory(counts: &Counts) -> Drawn {
    let names: Vec<&str> = counts.stages.iter().map(|s| s.path.as_str()).collect();
    let mib = |bytes: u64| bytes as f64 / f64::from(1u32 << 20);
    let bars: Vec<_> = counts
        .stages
        .iter()
        .map(|stage| vec![(0.0, mib(stage.peak_bytes), BUSY)])
        .collect();
    named_bars(&names, "MiB", mib(counts.peak_bytes), &bars)
}
