//! The parts of clang's JSON AST that the census and the AST rules read.

use std::{borrow::Cow, fmt};

use serde::{de::Visitor, Deserialize, Deserializer};

/// A declaration, statement, expression or attribute. Fields that a kind of node does not have are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Node<'a> {
    /// Address of the node in clang: what references are by.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    pub ty: Type<'a>,
    pub loc: Location,
    pub range: Range,
    #[serde(borrow)]
    pub inner: Vec<Node<'a>>,
    #[serde(borrow)]
    pub opcode: Cow<'a, str>,
    #[serde(borrow)]
    pub value_category: Cow<'a, str>,
    #[serde(borrow)]
    pub cast_kind: Cow<'a, str>,
    #[serde(borrow)]
    pub storage_class: Cow<'a, str>,
    #[serde(borrow)]
    pub init: Cow<'a, str>,
    #[serde(borrow)]
    pub tag_used: Cow<'a, str>,
    #[serde(borrow)]
    pub explicitly_defaulted: Cow<'a, str>,
    #[serde(borrow)]
    pub referenced_member_decl: Cow<'a, str>,
    #[serde(borrow)]
    pub referenced_decl: Option<Box<Reference<'a>>>,
    #[serde(borrow)]
    pub ctor_type: Type<'a>,
    #[serde(borrow)]
    pub arg_type: Type<'a>,
    #[serde(borrow)]
    pub bases: Vec<Base<'a>>,
    #[serde(borrow)]
    pub scoped_enum_tag: Cow<'a, str>,
    /// Address of the declaration before, of a function that is declared more than once.
    #[serde(borrow)]
    pub previous_decl: Cow<'a, str>,
    /// Text of a literal's value.
    #[serde(borrow, deserialize_with = "text")]
    pub value: Cow<'a, str>,
    pub is_implicit: bool,
    pub is_arrow: bool,
    pub is_postfix: bool,
    pub is_parameter_pack: bool,
    pub complete_definition: bool,
    pub has_in_class_initializer: bool,
    pub constexpr: bool,
    pub has_init: bool,
    pub has_var: bool,
}

/// The text of a literal's value; numbers of characters and of template arguments are left out.
fn text<'a, D: Deserializer<'a>>(d: D) -> Result<Cow<'a, str>, D::Error> {
    struct Text;
    impl<'a> Visitor<'a> for Text {
        type Value = Cow<'a, str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value")
        }

        fn visit_borrowed_str<E>(self, v: &'a str) -> Result<Self::Value, E> {
            Ok(v.into())
        }

        fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
            Ok(v.to_string().into())
        }

        fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
            Ok(if v { "true" } else { "false" }.into())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Cow::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Cow::default())
        }
    }
    d.deserialize_any(Text)
}

/// A type as written and without typedefs; the second is empty where they are equal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Type<'a> {
    #[serde(borrow)]
    pub qual_type: Cow<'a, str>,
    #[serde(borrow)]
    pub desugared_qual_type: Cow<'a, str>,
}

impl Type<'_> {
    /// Without typedefs, so far as clang says.
    pub fn text(&self) -> &str {
        if self.desugared_qual_type.is_empty() {
            &self.qual_type
        } else {
            &self.desugared_qual_type
        }
    }
}

/// The declaration that an expression names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reference<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    pub ty: Type<'a>,
}

/// A base class.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Base<'a> {
    #[serde(borrow, rename = "type")]
    pub ty: Type<'a>,
}

/// A place in the parsed text; what a macro made has two.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Location {
    pub offset: Option<usize>,
    pub spelling_loc: Option<Box<Location>>,
    pub expansion_loc: Option<Box<Location>>,
}

impl Location {
    /// Byte offset in the text behind the first `before` bytes; `None` for what stands in those.
    pub fn behind(&self, before: usize) -> Option<usize> {
        let inner = |l: &Option<Box<Location>>| l.as_ref()?.behind(before);
        let own = self.offset.and_then(|o| o.checked_sub(before));
        own.or_else(|| inner(&self.spelling_loc))
            .or_else(|| inner(&self.expansion_loc))
    }
}

/// From the first token to the last.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Range {
    pub begin: Location,
    pub end: Location,
}

impl<'a> Node<'a> {
    /// Calls `visit` with this node and each one below it, in the order of the text; what lies below a node for which it
    /// returns false is left out.
    pub fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Node<'a>) -> bool) {
        if visit(self) {
            for child in &self.inner {
                child.walk(visit);
            }
        }
    }

    /// True if `found` holds for this node or for one below it.
    pub fn any<'n>(&'n self, found: &mut impl FnMut(&'n Node<'a>) -> bool) -> bool {
        found(self) || self.inner.iter().any(|child| child.any(found))
    }

    /// Offset of the name, else of the first token, behind the first `before` bytes.
    pub fn offset(&self, before: usize) -> Option<usize> {
        self.loc
            .behind(before)
            .or_else(|| self.range.begin.behind(before))
    }

    /// The node below parentheses and conversions that have no text.
    pub fn peeled(&self) -> &Self {
        let mut n = self;
        while matches!(
            n.kind.as_ref(),
            "ParenExpr"
                | "ImplicitCastExpr"
                | "ExprWithCleanups"
                | "MaterializeTemporaryExpr"
                | "CXXBindTemporaryExpr"
        ) {
            let Some(next) = n.inner.first() else { break };
            n = next;
        }
        n
    }
}
