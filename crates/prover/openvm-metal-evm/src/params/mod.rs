//! KZG parameters: powers of a secret in BN254's first group, in cargo-openvm's files.
//!
//! A file for 2^k rows holds k in four bytes, then 2^k points of the monomial basis, 2^k of the Lagrange basis, and two points of the second
//! group: its generator and the generator times the secret. Coordinates are in Montgomery form, little endian (`SerdeFormat::RawBytes` of
//! halo2): 128 bytes a row, 1 GiB for k = 23.

mod file;
mod secret;

use std::{fmt, path::PathBuf, sync::Arc};

use halo2_base::halo2_proofs::halo2curves::bn256::G2Affine;
use openvm_metal_sdk::SdkError;
use openvm_static_verifier::Halo2Params;

pub(crate) use self::secret::public_secret_words;
use self::{file::Opened, secret::is_public_secret};
use crate::{
    error::EvmError,
    resources::{check_disk_space, check_processor},
};

/// Origin of KZG parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A ceremony: nobody knows the secret as long as one participant was honest.
    Ceremony,
    /// Made here, with a secret that everybody knows: for tests.
    UnsafeTest,
}

/// A folder of KZG parameters of one origin.
#[derive(Clone, Debug)]
pub struct ParamsFolder {
    folder: PathBuf,
    origin: Origin,
}

impl ParamsFolder {
    /// The files of a folder.
    pub fn new(folder: impl Into<PathBuf>, origin: Origin) -> Self {
        Self {
            folder: folder.into(),
            origin,
        }
    }

    /// Origin of the files.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The file for 2^k rows. Those of a ceremony are named as cargo-openvm names them; the name of test parameters says that they are unsafe.
    pub fn path(&self, k: u32) -> PathBuf {
        self.folder.join(match self.origin {
            Origin::Ceremony => format!("kzg_bn254_{k}.srs"),
            Origin::UnsafeTest => format!("kzg_bn254_{k}.unsafe-test.srs"),
        })
    }

    /// Looks at the file for 2^k rows before work: its size, its first points and the points of the second group. Returns the name of the
    /// secret. Unsafe parameters may be missing, for they are made.
    ///
    /// # Errors
    /// Errors of [`read`](Self::read).
    pub fn check(&self, k: u32) -> Result<String, EvmError> {
        check_processor()?;
        let s_g2 = match self.origin == Origin::UnsafeTest && !self.path(k).exists() {
            true => secret::s_g2(),
            false => self.open(k)?.s_g2,
        };
        Ok(secret_name(&s_g2))
    }

    /// The name of the secret of two files, which have to be of one.
    ///
    /// # Errors
    /// Errors of [`check`](Self::check), [`EvmError::OtherParams`].
    pub fn check_both(&self, [one, other]: [u32; 2]) -> Result<String, EvmError> {
        let name = self.check(one)?;
        match self.check(other)? == name {
            true => Ok(name),
            false => Err(EvmError::OtherParams {
                keys: self.path(one),
                params: self.path(other),
                made_with: "these KZG parameters are of another ceremony",
            }),
        }
    }

    /// The file for 2^k rows, whose beginning and end are as they should be.
    fn open(&self, k: u32) -> Result<Opened, EvmError> {
        let path = self.path(k);
        if !path.is_file() {
            return Err(EvmError::MissingParams { path, k });
        }
        let refused = |reason| EvmError::Params {
            path: path.clone(),
            reason,
        };
        let opened = Opened::new(&path, k).map_err(refused)?;
        match (self.origin, is_public_secret(&opened.s_g2)) {
            (Origin::Ceremony, true) => Err(EvmError::PublicSecret { path }),
            (Origin::UnsafeTest, false) => Err(refused(
                "they are not the unsafe ones that their name says".into(),
            )),
            _ => Ok(opened),
        }
    }

    /// Reads the parameters for 2^k rows. Unsafe ones that are not there are made first, which takes a minute for k = 23.
    ///
    /// Every point is on its curve, the first is the generator, and the second is of the same secret as the second group's: a
    /// file of another kind, or a damaged one, is refused. The points after the second are not compared with the secret.
    ///
    /// # Errors
    /// [`EvmError::MissingParams`], [`EvmError::Params`]; [`EvmError::PublicSecret`] for unsafe ones under a ceremony's name.
    pub fn read(&self, k: u32) -> Result<Arc<Halo2Params>, EvmError> {
        let path = self.path(k);
        if self.origin == Origin::UnsafeTest && !path.exists() {
            self.make(k)?;
        }
        let params = self.open(k)?.read();
        params
            .map(Arc::new)
            .map_err(|reason| EvmError::Params { path, reason })
    }

    /// Makes the file of unsafe parameters for 2^k rows.
    fn make(&self, k: u32) -> Result<(), EvmError> {
        let path = self.path(k);
        check_disk_space(&self.folder, "KZG parameters", file::size(k))?;
        secret::write(&path, k).map_err(|source| {
            EvmError::Sdk(SdkError::Write {
                path,
                what: "KZG parameters",
                source,
            })
        })
    }
}

/// The part of parameters that names their secret: the generator of the second group times the secret, in hexadecimal digits.
pub(crate) fn secret_name(s_g2: &G2Affine) -> String {
    use halo2_base::halo2_proofs::halo2curves::group::GroupEncoding as _;

    s_g2.to_bytes()
        .as_ref()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ceremony => "ceremony",
            Self::UnsafeTest => "unsafe-test",
        })
    }
}
