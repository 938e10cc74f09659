//! A stage that is open to matrix instructions, and the views of it that they read: [`crate::operand`].

use crate::operand::{OneTile, Operand, ReadsOperands, TwoTiles};
use crate::path::{ByWgmma, Multiplied, OpenTo, OpensTo};
use crate::ptx::wgmma;
use crate::token::{SameSet, Set};
use crate::wgmma::WholeWarpgroup;

use super::{Ring, Slot};

impl<'k, Tag, R: Ring, S: Set, State> Slot<'k, Tag, R, S, State> {
    /// Opens the stage to the matrix instructions that drain its ring: as many as one likes read it, until it is handed back. Costs
    /// nothing.
    #[inline(always)]
    pub fn open<T, By>(
        self, // D6, D16, E3: matrix instructions read the stage from here on; go on with the one that this returns
        set: &mut T,
    ) -> Slot<'k, Tag, R, S, By::Open>
    where
        T: SameSet<S>,
        By: ReadsOperands,
        R: Ring<Drain = By>,
        State: OpensTo<By>,
    {
        let _ = set;
        self.become_state()
    }

    /// The stage's tile, for one call that issues instructions.
    #[inline(always)]
    pub fn operand<M, By>(&self) -> Operand<'_, M, S, By>
    where
        By: ReadsOperands,
        R: Ring<Drain = By, Data: OneTile<Tile = M>>,
        State: OpenTo<By>,
    {
        Operand::new(self.data().raw())
    }

    /// The stage's two tiles, each for one call that issues instructions.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn operands<A, B, By>(&self) -> (Operand<'_, A, S, By>, Operand<'_, B, S, By>)
    where
        By: ReadsOperands,
        R: Ring<Drain = By, Data: TwoTiles<First = A, Second = B>>,
        State: OpenTo<By>,
    {
        let second = const { <R::Data as TwoTiles>::SECOND };
        (Operand::new(self.data().raw()), Operand::new(self.data().offset(second).raw()))
    }

    /// Waits until no instruction of the warpgroup reads the stage: of a stage that many products read, and that went into no group.
    ///
    /// # PTX
    /// `wgmma.commit_group.sync.aligned`, `wgmma.wait_group.sync.aligned 0`, PTX 8.0, sm_90a (ISA 9.7.15.7.2, 9.7.15.7.3).
    #[inline(always)]
    pub fn wait_reads<T>(
        self, // E3, D16: no instruction reads the stage; go on with the one that this returns
        warpgroup: &mut T,
    ) -> Slot<'k, Tag, R, S, Multiplied>
    where
        T: SameSet<S> + WholeWarpgroup,
        State: OpenTo<ByWgmma>,
    {
        let _ = warpgroup;
        // SAFETY: all threads of the warpgroup are here, by the token (I1, I2). What they have issued, of whatever product, is in this group
        // or an older one, and ends here (I19); no view of the stage is left, since it is consumed (I18).
        unsafe {
            wgmma::commit_group();
            wgmma::wait_group::<0>();
        }
        self.become_state()
    }
}
