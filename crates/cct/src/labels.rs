//! From the exact frames that readers have to the frames that label nodes: what a tree of some grain tells apart, under
//! names without what changes from run to run where that is asked for.

use hashbrown::HashMap;

use crate::normalise::{Renamed, normalise_name};
use crate::{CallSite, Frame, FrameId, FunctionId, Grain, NameKinds, Symbols};

/// From exact frames to the frames that label nodes of a grain.
#[derive(Debug)]
pub(crate) struct Labels {
    grain: Grain,
    names: NameKinds,
    renamed: Renamed,
    /// Grains `Functions` and `Frames`: the label of each frame, by frame.
    of_frame: Vec<Option<FrameId>>,
    /// Grain `CallSites`: the label of a function called from a site.
    of_site: HashMap<(FunctionId, Option<CallSite>), FrameId>,
}

impl Labels {
    pub(crate) fn new(grain: Grain, names: NameKinds) -> Self {
        let (of_frame, of_site) = Default::default();
        Self { grain, names, renamed: Renamed::default(), of_frame, of_site }
    }

    pub(crate) fn grain(&self) -> Grain {
        self.grain
    }

    /// True when every frame labels nodes as it is.
    pub(crate) fn are_exact(&self) -> bool {
        self.grain == Grain::Frames && self.names == NameKinds::none()
    }

    pub(crate) fn label(
        &mut self,
        symbols: &mut Symbols,
        caller: Option<FrameId>,
        frame: FrameId,
    ) -> FrameId {
        if self.are_exact() {
            return frame;
        }
        if self.grain == Grain::CallSites {
            let site = caller.and_then(|caller| symbols.frame(caller).as_call_site());
            let function = symbols.frame(frame).function;
            if let Some(label) = self.of_site.get(&(function, site)) {
                return *label;
            }
            let named = self.function(symbols, function);
            let label = symbols.intern_frame(Frame { call_site: site, ..Frame::of(named) });
            self.of_site.insert((function, site), label);
            return label;
        }
        if let Some(Some(label)) = self.of_frame.get(frame.index()) {
            return *label;
        }
        let label = if self.grain == Grain::Functions {
            let function = self.function(symbols, symbols.frame(frame).function);
            symbols.intern_frame(Frame::of(function))
        } else {
            self.renamed.frame(symbols, frame, &|text| normalise_name(text, self.names))
        };
        if self.of_frame.len() <= frame.index() {
            self.of_frame.resize(frame.index() + 1, None);
        }
        self.of_frame[frame.index()] = Some(label);
        label
    }

    fn function(&mut self, symbols: &mut Symbols, function: FunctionId) -> FunctionId {
        if self.names == NameKinds::none() {
            return function;
        }
        self.renamed.function(symbols, function, &|text| normalise_name(text, self.names))
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self::new(Grain::default(), NameKinds::none())
    }
}
