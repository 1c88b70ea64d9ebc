//! Text of loads and stores.

use super::emit::Emitter;
use super::fault;
use super::plan::{address, Slot, Source};
use super::types::{from_bits, local, to_bits};
use crate::isa::{Address, Register, Ty};

impl Emitter<'_> {
    /// Arena offset, size and handle of a fixed or constant handle, or of one looked up into `s`.
    fn buffer(&mut self, address: Address) -> (String, [String; 3]) {
        let pc = self.pc;
        let (source, register) = match address {
            Address::RegisterIndirect { base, .. } => (self.handles[pc], Some(base)),
            Address::RegisterIndirectComputed { handle_reg, .. } => {
                (self.handles[pc], Some(handle_reg))
            }
            _ => (Some(self.fixed(pc)), None),
        };
        if let Some(source) = source {
            let words = [Slot::At(source), Slot::Size(source), Slot::Handle(source)]
                .map(|slot| self.slot(slot));
            if let [Some(at), Some(size), Some(handle)] = words {
                return (String::new(), [at, size, handle]);
            }
        }
        self.table = true;
        self.boundary = true;
        let handle = match (register, address) {
            (Some(register), _) => local(register, Ty::U64),
            (None, Address::BufferOffset { handle, .. }) => format!("{handle}ul"),
            _ => "0ul".into(),
        };
        let text = format!("const hg_span s = hg_find(T, P.v[2], P.v[3], P.v[1], {handle}); ");
        (text, ["s.at".into(), "s.size".into(), handle])
    }

    /// The first address with the same fixed handle, so that equal handles share words.
    fn fixed(&self, pc: usize) -> Source {
        let at = |pc: usize| address(self.program, pc);
        let Some(Address::BufferOffset { handle, .. }) = at(pc) else {
            return Source::Fixed(pc);
        };
        let same = |s: &Slot| match *s {
            Slot::At(Source::Fixed(p)) => match at(p) {
                Some(Address::BufferOffset { handle: h, .. }) if h == handle => Some(p),
                _ => None,
            },
            _ => None,
        };
        Source::Fixed(self.slots.iter().find_map(same).unwrap_or(pc))
    }

    pub(super) fn global(
        &mut self,
        ty: Ty,
        address: Address,
        store: Option<Register>,
        dst: Option<Register>,
    ) -> String {
        let width = ty.size();
        if let Address::PhiCoordinate { class, page, byte } = address {
            self.boundary = true;
            let at = usize::from(class) * 12_288 + usize::from(page) * 256 + usize::from(byte);
            return self.access(ty, "", &format!("mem, P.v[1] + {at}ul"), store, dst);
        }
        let (find, [at, size, handle]) = self.buffer(address);
        let offset = match address {
            Address::BufferOffset { offset, .. } => format!("{offset}ul"),
            Address::RegisterIndirect { offset, .. } => format!("{}ul", offset.max(0)),
            Address::RegisterIndirectComputed { offset_reg, .. } => local(offset_reg, Ty::U64),
            Address::PhiCoordinate { .. } => String::new(),
        };
        if let Some(negative) = fault::negative_offset(address) {
            let missing = self.fault(
                &format!("{}u", fault::NEGATIVE_OFFSET),
                [&format!("{}ul", negative as u32), "0ul", "0ul"],
            );
            return format!("{missing}\n");
        }
        // The sum of place and offset wraps where each buffer lies for itself.
        if self.in_bounds {
            let access = self.access(ty, "", &format!("mem, {at} + o"), store, dst);
            return format!("{{ {find}const ulong o = {offset}; {access}}}\n");
        }
        let code = format!(
            "({at} == ~0ul ? {}u : {}u)",
            fault::INVALID_HANDLE,
            fault::OUT_OF_BOUNDS
        );
        let out = self.fault(&code, [&handle, "o", &size]);
        let access = self.access(ty, "", &format!("mem, {at} + o"), store, dst);
        format!(
            "{{ {find}const ulong o = {offset}; if (hg_out(o, {size}, {width}ul)) {out}\n{access}}}\n"
        )
    }

    /// Loads or stores at `place`: a pointer and an offset.
    fn access(
        &self,
        ty: Ty,
        space: &str,
        place: &str,
        store: Option<Register>,
        dst: Option<Register>,
    ) -> String {
        let width = ty.size();
        match (store, dst) {
            (Some(src), _) => format!(
                "hg_st{space}{width}({place}, {});\n",
                to_bits(ty, &local(src, ty))
            ),
            (None, Some(dst)) => format!(
                "{} = {};\n",
                local(dst, ty),
                from_bits(ty, &format!("hg_ld{space}{width}({place})"))
            ),
            (None, None) => String::new(),
        }
    }

    pub(super) fn shared(
        &mut self,
        ty: Ty,
        address: Address,
        store: Option<Register>,
        dst: Option<Register>,
    ) -> String {
        let width = ty.size();
        let offset = match address {
            Address::BufferOffset { offset, .. } => format!("{offset}ul"),
            Address::RegisterIndirect { offset, .. } => format!("{}ul", offset.max(0)),
            Address::RegisterIndirectComputed { offset_reg, .. } => local(offset_reg, Ty::U64),
            Address::PhiCoordinate { .. } => "0ul".into(),
        };
        if let Some(negative) = fault::negative_offset(address) {
            let missing = self.fault(
                &format!("{}u", fault::NEGATIVE_OFFSET),
                [&format!("{}ul", negative as u32), "0ul", "0ul"],
            );
            return format!("{missing}\n");
        }
        let code = format!("{}u", fault::SHARED_OUT_OF_BOUNDS);
        let out = self.fault(&code, ["0ul", "o", "P.v[7]"]);
        let access = self.access(ty, "s", "S, o", store, dst);
        format!(
            "{{ const ulong o = {offset}; if (hg_out(o, P.v[7], {width}ul)) {out}\n{access}}}\n"
        )
    }

    pub(super) fn pool(
        &mut self,
        ty: Ty,
        pool: Register,
        offset: Register,
        store: Option<Register>,
        dst: Option<Register>,
    ) -> String {
        self.table = true;
        let (pool, offset) = (local(pool, Ty::U64), local(offset, Ty::U64));
        let code = format!(
            "(s.at == ~0ul ? {}u : {}u)",
            fault::INVALID_POOL,
            fault::POOL_OUT_OF_BOUNDS
        );
        let out = self.fault(&code, [&pool, &offset, "s.size"]);
        let access = self.access(ty, "", &format!("mem, s.at + {offset}"), store, dst);
        format!(
            "{{ const hg_span s = hg_find_pool(T + 3 * P.v[3], P.v[4], P.v[5], {pool});\n\
             if (hg_out({offset}, s.size, {}ul)) {out}\n{access}}}\n",
            ty.size()
        )
    }
}
