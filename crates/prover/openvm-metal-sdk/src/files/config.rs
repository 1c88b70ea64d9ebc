//! Configurations: the text of an `openvm.toml`.

use std::collections::BTreeSet;

use openvm_circuit::arch::{MemoryConfig, SystemConfig};
use openvm_sdk::config::AppConfig;
use openvm_sdk_config::SdkVmConfig;
use toml::{Table, Value};

use crate::{error::SdkError, memory_config, moduli, table_sizes};

/// A configuration that was read from a text.
#[derive(Clone, Debug)]
pub struct ConfigText {
    /// Extensions and parameters; OpenVM's default parameters if the text has none.
    pub config: AppConfig<SdkVmConfig>,
    /// True if the text has parameters, in `[system_params]`.
    pub has_params: bool,
}

/// Takes a configuration from the text of an `openvm.toml`. What `[app_vm_config.system.config]` leaves out is OpenVM's
/// default.
///
/// # Errors
/// [`SdkError::Config`] if it does not parse, has a table or field that no extension knows, or has moduli, public
/// values or a memory that cannot be proved.
pub fn config_from_text(text: &str) -> Result<ConfigText, SdkError> {
    let bad = |reason: String| SdkError::Config(reason);
    let mut table: Table = toml::from_str(text).map_err(|error| bad(error.to_string()))?;
    let has_params = table.contains_key("system_params");
    // Errors of the text as it is have its line.
    let config: AppConfig<SdkVmConfig> = match complete_system(&mut table) {
        true => table.clone().try_into(),
        false => toml::from_str(text),
    }
    .map_err(|error| bad(error.to_string()))?;
    let known = Table::try_from(&config).map_err(|error| bad(error.to_string()))?;
    if let Some(path) = unknown(&table, &known) {
        let hint = match path.as_str() {
            "app_vm_config.sha256" => "; version 2 has sha2".into(),
            _ if path.starts_with("app_vm_config.") => {
                format!("; extensions are {}", extensions())
            }
            _ => String::new(),
        };
        return Err(bad(format!("{path} is not known to OpenVM 2.0.2{hint}")));
    }
    moduli::check(&config.app_vm_config)?;
    table_sizes::check(&config.app_vm_config)?;
    memory_config::check(&config.app_vm_config.system.config)?;
    Ok(ConfigText { config, has_params })
}

/// Adds what the table of the system leaves out. False if there is nothing to add.
fn complete_system(table: &mut Table) -> bool {
    let system = ["app_vm_config", "system", "config"]
        .iter()
        .try_fold(table, |table, name| table.get_mut(*name)?.as_table_mut());
    let Some(system) = system else {
        return false;
    };
    let default = SystemConfig::default();
    let values = match system.get("num_public_values") {
        None => Some(default.num_public_values),
        Some(values) => values
            .as_integer()
            .and_then(|values| usize::try_from(values).ok()),
    };
    // The text is wrong, and its reader says where.
    let Some(values) = values else {
        return false;
    };
    let default = SystemConfig::new(
        default.max_constraint_degree,
        MemoryConfig::default(),
        values,
    );
    Table::try_from(default).is_ok_and(|default| complete(system, default))
}

/// Adds the fields of `default` that a table lacks, and those of its tables. False if it lacks none.
fn complete(table: &mut Table, default: Table) -> bool {
    let mut is_changed = false;
    for (name, default) in default {
        match (table.get_mut(&name), default) {
            (None, default) => {
                table.insert(name, default);
                is_changed = true;
            }
            (Some(Value::Table(table)), Value::Table(default)) => {
                is_changed |= complete(table, default);
            }
            _ => {}
        }
    }
    is_changed
}

/// The path of the first field that is not among the `known` ones: those that were read, written again.
fn unknown(table: &Table, known: &Table) -> Option<String> {
    table.iter().find_map(|(name, value)| {
        let Some(known) = known.get(name) else {
            return Some(name.clone());
        };
        unknown_in(value, known).map(|path| format!("{name}.{path}"))
    })
}

fn unknown_in(value: &Value, known: &Value) -> Option<String> {
    match (value, known) {
        (Value::Table(table), Value::Table(known)) => unknown(table, known),
        (Value::Array(values), Value::Array(known)) => values
            .iter()
            .zip(known)
            .enumerate()
            .find_map(|(index, (value, known))| {
                Some(format!("{index}.{}", unknown_in(value, known)?))
            }),
        _ => None,
    }
}

/// Names of all extensions, separated by commas.
fn extensions() -> String {
    let standard = Table::try_from(SdkVmConfig::standard()).unwrap_or_default();
    let names: BTreeSet<&str> = standard.keys().map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| *name != "system").collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use openvm_circuit::system::memory::merkle::public_values::PUBLIC_VALUES_AS;

    use super::*;

    const RISCV: &str = "[app_vm_config.rv32i]\n[app_vm_config.rv32m]\n[app_vm_config.io]\n";

    fn system(text: &str) -> SystemConfig {
        let text = format!("{RISCV}[app_vm_config.system.config]\n{text}");
        let parsed = config_from_text(&text).expect("a configuration");
        assert!(!parsed.has_params);
        parsed.config.app_vm_config.system.config
    }

    /// Two lines are enough for another number of public values: each field had to be written.
    #[test]
    fn the_system_is_completed() {
        let text = |config: &SystemConfig| toml::to_string(config).expect("TOML");
        let default = config_from_text(RISCV).expect("a configuration");
        let default = default.config.app_vm_config.system.config;
        assert_eq!(text(&system("")), text(&default));
        let mut more = default.clone();
        more.num_public_values = 64;
        more.memory_config.addr_spaces[PUBLIC_VALUES_AS as usize].num_cells = 64;
        let found = system("num_public_values = 64\n");
        assert_eq!(text(&found), text(&more));
        let memory = "[app_vm_config.system.config.memory_config]\ntimestamp_max_bits = 28\n";
        let found = system(memory);
        assert_eq!(found.memory_config.timestamp_max_bits, 28);
        assert_eq!(found.num_public_values, default.num_public_values);
        // A whole table is taken as it is.
        let mut whole = SdkVmConfig::riscv32();
        whole.system.config = more.clone();
        let whole = config_from_text(&whole.to_toml().expect("TOML")).expect("a configuration");
        assert_eq!(text(&whole.config.app_vm_config.system.config), text(&more));
    }

    #[test]
    fn tables_that_no_extension_has_are_refused() {
        for (text, parts) in [
            (
                "[app_vm_config.keccack]\n",
                &["app_vm_config.keccack", "keccak, modular"][..],
            ),
            (
                "[app_vm_config.sha256]\n",
                &["app_vm_config.sha256", "sha2"],
            ),
            ("[app_vm_confg.keccak]\n", &["app_vm_confg"]),
            (
                "[app_vm_config.modular]\nsupported_moduli = [\"7\"]\nmoduli = [\"7\"]\n",
                &["app_vm_config.modular.moduli"],
            ),
            (
                "[app_vm_config.system.config]\npublic_values = 64\n",
                &["app_vm_config.system.config.public_values"],
            ),
            (
                "[app_vm_config.system.config]\nnum_public_values = 96\n",
                &["num_public_values is 96"],
            ),
            (
                "[app_vm_config.system.config]\nnum_public_values = -1\n",
                &["line 5"],
            ),
            (
                "[app_vm_config.modular]\nsupported_moduli = [\"4\"]\n",
                &["4 is no odd prime"],
            ),
            ("x = \n", &["line 4"]),
        ] {
            let error = config_from_text(&format!("{RISCV}{text}")).expect_err(text);
            let error = error.to_string();
            for part in parts {
                assert!(error.contains(part), "{part} is not in {error}");
            }
        }
    }

    /// Everything that OpenVM writes is known.
    #[test]
    fn whole_configurations_are_taken() {
        let standard = SdkVmConfig::standard().to_toml().expect("TOML");
        let parsed = config_from_text(&standard).expect("a configuration");
        assert_eq!(
            parsed.config.app_vm_config.to_toml().expect("TOML"),
            standard
        );
    }
}
