//! Prints where the binary operators of Rust files stand, for `tools/mutate`: file, first byte of the expression, bytes of the
//! operator, end of the expression, operator; separated by tabs. What is evaluated while compiling, compiled for tests only
//! or the argument of a macro is left out.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ExprBinary, ExprConst, ExprRepeat, ImplItemFn, ItemFn};

struct Operators<'a> {
    file: &'a str,
    text: &'a str,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .meta
                    .require_list()
                    .is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

impl<'ast> Visit<'ast> for Operators<'_> {
    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        let start = expression.left.span().byte_range().start;
        let end = expression.right.span().byte_range().end;
        let operator = expression.op.span().byte_range();
        println!(
            "{}\t{start}\t{}\t{}\t{end}\t{}",
            self.file,
            operator.start,
            operator.end,
            &self.text[operator.clone()]
        );
        visit::visit_expr_binary(self, expression);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if function.sig.constness.is_none() && !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if function.sig.constness.is_none() {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
}

fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        let mut operators = Operators {
            file: &file,
            text: &text,
        };
        operators.visit_file(&parsed);
    }
}
