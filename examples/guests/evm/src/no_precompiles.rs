//! An EVM without precompiled contracts. Transfers call none, and their code is most of revm's.

use revm::{
    context::Cfg,
    context_interface::ContextTr,
    handler::PrecompileProvider,
    interpreter::{CallInputs, InterpreterResult},
    primitives::{Address, AddressSet},
};

#[derive(Default)]
pub struct NoPrecompiles {
    none: AddressSet,
}

impl<CTX: ContextTr> PrecompileProvider<CTX> for NoPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, _: <CTX::Cfg as Cfg>::Spec) -> bool {
        false
    }

    fn run(&mut self, _: &mut CTX, _: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        Ok(None)
    }

    fn warm_addresses(&self) -> &AddressSet {
        &self.none
    }

    fn contains(&self, _: &Address) -> bool {
        false
    }
}
