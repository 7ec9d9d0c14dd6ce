//! From the exact frames that readers have to the frames that label nodes: what a tree of some grain tells apart.

use hashbrown::HashMap;

use crate::{CallSite, Frame, FrameId, FunctionId, Grain, Symbols};

/// From exact frames to the frames that label nodes of a grain.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// Grain `Functions`: the label of each frame, by frame.
    of_frame: Vec<Option<FrameId>>,
    /// Grain `CallSites`: the label of a function called from a site.
    of_site: HashMap<(FunctionId, Option<CallSite>), FrameId>,
}

impl Labels {
    pub(crate) fn label(
        &mut self,
        symbols: &mut Symbols,
        grain: Grain,
        caller: Option<FrameId>,
        frame: FrameId,
    ) -> FrameId {
        match grain {
            Grain::Frames => frame,
            Grain::Functions => {
                if let Some(Some(label)) = self.of_frame.get(frame.index()) {
                    return *label;
                }
                let label = symbols.intern_frame(Frame::of(symbols.frame(frame).function));
                if self.of_frame.len() <= frame.index() {
                    self.of_frame.resize(frame.index() + 1, None);
                }
                self.of_frame[frame.index()] = Some(label);
                label
            }
            Grain::CallSites => {
                let site = caller.and_then(|caller| symbols.frame(caller).as_call_site());
                let function = symbols.frame(frame).function;
                *self.of_site.entry((function, site)).or_insert_with(|| {
                    symbols.intern_frame(Frame { call_site: site, ..Frame::of(function) })
                })
            }
        }
    }
}
