//! NumPy's `.npy` files, as its format document describes them: magic, version, a header that is a
//! Python dictionary of `descr`, `fortran_order` and `shape`, then the elements.

use hologram_backends::Ty;

use crate::array::{byte_len, Array};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The header's end is aligned to this.
const ALIGN: usize = 64;

/// NumPy's name of a type; `None` for `bf16`, which it does not have.
fn descr(ty: Ty) -> Option<&'static str> {
    Some(match ty {
        Ty::I8 => "|i1",
        Ty::I16 => "<i2",
        Ty::I32 => "<i4",
        Ty::I64 => "<i8",
        Ty::U8 => "|u1",
        Ty::U16 => "<u2",
        Ty::U32 => "<u4",
        Ty::U64 => "<u8",
        Ty::F16 => "<f2",
        Ty::F32 => "<f4",
        Ty::F64 => "<f8",
        Ty::Bf16 => return None,
    })
}

/// Reads a file's bytes.
///
/// # Errors
/// What is wrong with them, or what this command does not take: big-endian numbers, other types,
/// Fortran order.
pub fn read(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("no .npy file")?;
    let cut = || "the file is cut short".to_owned();
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (len, rest) = match version {
        [1, _] => {
            let (len, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            (u16::from_le_bytes(*len) as usize, rest)
        }
        [2 | 3, _] => {
            let (len, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            (u32::from_le_bytes(*len) as usize, rest)
        }
        [major, _] => return Err(format!("version {major} of the .npy format is unknown")),
    };
    let (header, data) = rest.split_at_checked(len).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is no text")?;
    let (ty, shape) = parse_header(header)?;
    let expected = byte_len(ty, &shape)?;
    if data.len() != expected {
        return Err(format!(
            "{} bytes of elements, {expected} expected for {shape:?} of {ty}",
            data.len()
        ));
    }
    Ok(Array {
        ty,
        shape,
        data: data.to_vec(),
    })
}

fn parse_header(header: &str) -> Result<(Ty, Vec<usize>), String> {
    let bad = || format!("the header {:?} is not understood", header.trim_end());
    let value = |key: &str| {
        let (_, rest) = header.split_once(&format!("'{key}':"))?;
        Some(rest.trim_start())
    };
    let name = value("descr")
        .and_then(|rest| rest.strip_prefix('\''))
        .and_then(|rest| rest.split_once('\''))
        .ok_or_else(bad)?
        .0;
    let ty = match name {
        "|b1" => Some(Ty::U8),
        _ => Ty::ALL.into_iter().find(|&ty| descr(ty) == Some(name)),
    }
    .ok_or_else(|| format!("elements of NumPy type {name:?} are not taken"))?;
    let shape = value("shape")
        .and_then(|rest| rest.strip_prefix('('))
        .and_then(|rest| rest.split_once(')'))
        .ok_or_else(bad)?
        .0;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|extent| !extent.is_empty())
        .map(|extent| extent.parse().map_err(|_| bad()))
        .collect::<Result<_, _>>()?;
    let order = value("fortran_order").ok_or_else(bad)?;
    if !order.starts_with("False") && shape.len() > 1 {
        return Err("columns come first (Fortran order): save np.ascontiguousarray(..)".to_owned());
    }
    Ok((ty, shape))
}

/// The bytes of a file.
///
/// # Errors
/// `bf16`, which NumPy does not have.
pub fn write(array: &Array) -> Result<Vec<u8>, String> {
    let descr = descr(array.ty).ok_or_else(|| format!("NumPy has no type {}", array.ty))?;
    let extents: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
    let comma = if array.shape.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        extents.join(", ")
    );
    // Magic, version, length, header, newline.
    let unpadded = MAGIC.len() + 2 + 2 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(ALIGN) - unpadded));
    header.push('\n');
    let len = u16::try_from(header.len()).map_err(|_| "too many dimensions".to_owned())?;
    let mut out = Vec::with_capacity(unpadded + ALIGN + array.data.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(&array.data);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use crate::array::Array;
    use hologram_backends::Ty;

    fn sample(ty: Ty, shape: &[usize]) -> Array {
        let count: usize = shape.iter().product();
        Array {
            ty,
            shape: shape.to_vec(),
            data: (0..count * ty.size()).map(|i| i as u8).collect(),
        }
    }

    #[test]
    fn arrays_survive() {
        for ty in Ty::ALL.into_iter().filter(|&ty| ty != Ty::Bf16) {
            for shape in [&[][..], &[0], &[5], &[2, 3], &[1, 2, 1, 4]] {
                let array = sample(ty, shape);
                let bytes = write(&array).unwrap();
                assert_eq!((bytes.len() - array.data.len()) % 64, 0);
                assert_eq!(read(&bytes), Ok(array));
            }
        }
        assert!(write(&sample(Ty::Bf16, &[1])).is_err());
    }

    #[test]
    fn a_file_of_numpy_is_read() {
        // np.save of np.array([1, 2], dtype=np.int16), version 1, and the same as version 2.
        let header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
        let mut one = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        one.extend_from_slice(format!("{header:<117}\n").as_bytes());
        one.extend_from_slice(&[1, 0, 2, 0]);
        let expected = Array {
            ty: Ty::I16,
            shape: vec![2],
            data: vec![1, 0, 2, 0],
        };
        assert_eq!(read(&one), Ok(expected.clone()));
        let mut two = b"\x93NUMPY\x02\x00\x76\x00\x00\x00".to_vec();
        two.extend_from_slice(&one[10..]);
        assert_eq!(read(&two), Ok(expected));
    }

    #[test]
    fn wrong_files_are_refused() {
        let file = |header: &str, data: &[u8]| {
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(data);
            bytes
        };
        let good = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
        let whole = file(good, &[0; 4]);
        assert!(read(&whole).is_ok());
        for len in 0..whole.len() {
            assert!(read(&whole[..len]).is_err(), "{len}");
        }
        assert!(read(&file(good, &[0; 5])).is_err());
        let cases = [
            ("'<i2'", "'>i2'", "'>i2' are not taken".replace('\'', "\"")),
            ("'<i2'", "[('a', '<i2')]", "not understood".to_owned()),
            ("(2,)", "(2, -1)", "not understood".to_owned()),
            ("(2,)", "(18446744073709551615, 2)", "do not fit".to_owned()),
            ("'shape'", "'form'", "not understood".to_owned()),
        ];
        for (from, to, part) in cases {
            let error = read(&file(&good.replace(from, to), &[0; 4])).unwrap_err();
            assert!(error.contains(&part), "{to}: {error}");
        }
        let columns = good.replace("False", "True").replace("(2,)", "(1, 2)");
        assert!(read(&file(&columns, &[0; 4]))
            .unwrap_err()
            .contains("Fortran"));
        let mut version = whole;
        version[6] = 9;
        assert!(read(&version).unwrap_err().contains("version 9"));
    }
}
