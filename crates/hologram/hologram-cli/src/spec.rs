//! Syntax of arguments such as `--buffer a=in.npy` and `--register r1=@a`.

use std::path::PathBuf;
use std::str::FromStr;

use hologram_backends::{Register, Ty};

use crate::value;

/// Contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A `.npy` file.
    File(PathBuf),
    /// Zeros of a type and shape.
    Zeros(Ty, Vec<usize>),
}

/// `[NAME=]FILE.npy` or `[NAME=]TYPE:EXTENT[xEXTENT]...`.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// The name, if it has one.
    pub name: Option<String>,
    /// Source of its contents.
    pub source: Source,
}

impl FromStr for BufferSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) => (Some(named(name)?), rest),
            None => (None, text),
        };
        if rest.is_empty() {
            return Err("a file or TYPE:SHAPE is missing".to_owned());
        }
        let zeros = rest
            .split_once(':')
            .and_then(|(ty, shape)| Some((Ty::from_name(ty)?, shape)));
        let source = match zeros {
            Some((ty, shape)) => Source::Zeros(ty, extents(shape)?),
            None => Source::File(rest.into()),
        };
        Ok(Self { name, source })
    }
}

fn named(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(format!("`{name}` is no name of a buffer: A-Z a-z 0-9 _"));
    }
    Ok(name.to_owned())
}

fn extents(text: &str) -> Result<Vec<usize>, String> {
    text.split('x')
        .map(|extent| {
            extent
                .parse()
                .map_err(|_| format!("`{text}` is no shape such as 1000 or 10x20"))
        })
        .collect()
}

/// Initial value of a register.
#[derive(Clone, Debug, PartialEq)]
pub enum Preset {
    /// A number.
    Bits(Ty, u64),
    /// The handle of the buffer with this name.
    Handle(String),
}

/// `rN=@BUFFER`, `rN=NUMBER` (`u64`) or `rN=TYPE:NUMBER`.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterSpec {
    /// The register.
    pub register: Register,
    /// The value.
    pub preset: Preset,
}

impl RegisterSpec {
    /// Type of the value.
    pub fn ty(&self) -> Ty {
        match self.preset {
            Preset::Bits(ty, _) => ty,
            Preset::Handle(_) => Ty::U64,
        }
    }
}

impl FromStr for RegisterSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (register, rest) = text.split_once('=').ok_or("no `=` after the register")?;
        let register = register
            .strip_prefix('r')
            .and_then(|index| index.parse().ok())
            .map(Register::new)
            .ok_or_else(|| format!("`{register}` is not a register r0 to r255"))?;
        let preset = if let Some(name) = rest.strip_prefix('@') {
            Preset::Handle(named(name)?)
        } else {
            let (ty, number) = match rest.split_once(':') {
                Some((ty, number)) => {
                    let known = Ty::from_name(ty).ok_or_else(|| format!("unknown type `{ty}`"))?;
                    (known, number)
                }
                None => (Ty::U64, rest),
            };
            Preset::Bits(ty, value::parse_bits(ty, number)?)
        };
        Ok(Self { register, preset })
    }
}

/// `NAME=FILE.npy`.
#[derive(Clone, Debug, PartialEq)]
pub struct OutSpec {
    /// Name of the buffer.
    pub name: String,
    /// File that is written.
    pub path: PathBuf,
}

impl FromStr for OutSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !path.is_empty() => Ok(Self {
                name: named(name)?,
                path: path.into(),
            }),
            _ => Err("no file after NAME=".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BufferSpec, OutSpec, Preset, RegisterSpec, Source};
    use hologram_backends::{Register, Ty};

    #[test]
    fn buffers() {
        let spec = |text: &str| text.parse::<BufferSpec>();
        let (name, source) = (Some("a".to_owned()), Source::Zeros(Ty::F32, vec![10, 20]));
        assert_eq!(spec("a=f32:10x20"), Ok(BufferSpec { name, source }));
        assert_eq!(
            spec("in.npy").unwrap().source,
            Source::File("in.npy".into())
        );
        assert_eq!(spec("f99:3").unwrap().source, Source::File("f99:3".into()));
        for wrong in ["", "a=", "=x.npy", "a b=x.npy", "f32:", "f32:1x", "f32:-1"] {
            assert!(spec(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn registers() {
        let preset = |text: &str| text.parse::<RegisterSpec>().map(|spec| spec.preset);
        assert_eq!(preset("r0=17"), Ok(Preset::Bits(Ty::U64, 17)));
        assert_eq!(preset("r0=i8:-1"), Ok(Preset::Bits(Ty::I8, 255)));
        assert_eq!(preset("r0=@out"), Ok(Preset::Handle("out".into())));
        let spec: RegisterSpec = "r255=f32:1".parse().unwrap();
        assert_eq!((spec.register, spec.ty()), (Register::new(255), Ty::F32));
        for wrong in [
            "",
            "r1",
            "r256=1",
            "1=1",
            "r1=",
            "r1=-1",
            "r1=u8:256",
            "r1=x:1",
            "r1=@",
            "p1=1",
        ] {
            assert!(preset(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn outputs() {
        let spec: OutSpec = "b0=x=y.npy".parse().unwrap();
        assert_eq!(
            (spec.name.as_str(), spec.path.to_str()),
            ("b0", Some("x=y.npy"))
        );
        for wrong in ["b0", "b0=", "=f.npy"] {
            assert!(wrong.parse::<OutSpec>().is_err(), "{wrong}");
        }
    }
}
