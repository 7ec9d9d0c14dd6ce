//! Functions, places and calls of one callgrind file, before they become a call graph with frames: what is known of a
//! function grows while the file is read, and frames do not change.

use hashbrown::HashMap;
use perfblame_cct::{
    Frame, FrameId, Function, FunctionId, Grain, Layer, MetricId, ProfileBuilder, ThreadId,
    position,
};
use perfblame_native::{demangle, layer_of};
use std::num::NonZeroU64;

use super::lines::{CallgrindNames, NameId};
use crate::building::call_graph::CallGraph;

/// Who a function is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunctionKey {
    pub object: NameId,
    pub file: NameId,
    pub name: NameId,
}

/// Where a cost arises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CostPlace {
    pub function: u32,
    pub file: NameId,
    pub line: u64,
    pub address: u64,
}

/// The graph of one thread.
pub struct CallgrindGraph {
    grain: Grain,
    width: usize,
    functions: Vec<(FunctionKey, u64)>,
    function_index: HashMap<FunctionKey, u32>,
    places: Vec<CostPlace>,
    place_index: HashMap<CostPlace, u32>,
    costs: Vec<i64>,
    calls: Vec<(u32, u32, i64)>,
    call_costs: Vec<i64>,
    pub names: CallgrindNames,
}

impl CallgrindGraph {
    pub fn new(grain: Grain, width: usize) -> Self {
        Self {
            grain,
            width,
            functions: Vec::new(),
            function_index: HashMap::new(),
            places: Vec::new(),
            place_index: HashMap::new(),
            costs: Vec::new(),
            calls: Vec::new(),
            call_costs: Vec::new(),
            names: CallgrindNames::default(),
        }
    }

    /// The row of a function.
    pub fn function(&mut self, key: FunctionKey) -> u32 {
        let functions = &mut self.functions;
        *self.function_index.entry(key).or_insert_with(|| {
            functions.push((key, 0));
            functions.len() as u32 - 1
        })
    }

    /// Remembers where a function starts, as a call to it says.
    pub fn starts_at(&mut self, function: u32, line: u64) {
        if let Some((_, start)) = self.functions.get_mut(function as usize)
            && *start == 0
        {
            *start = line;
        }
    }

    /// Adds self cost.
    pub fn add_cost(&mut self, place: CostPlace, costs: &[i64]) {
        let start = self.place(place) as usize * self.width;
        for (slot, cost) in self.costs[start..start + self.width].iter_mut().zip(costs) {
            *slot = slot.saturating_add(*cost);
        }
    }

    /// Adds calls with their inclusive cost.
    pub fn add_calls(&mut self, place: CostPlace, callee: u32, calls: i64, costs: &[i64]) {
        let place = self.place(place);
        self.calls.push((place, callee, calls));
        self.call_costs.extend(costs.iter().copied().chain(std::iter::repeat(0)).take(self.width));
    }

    fn place(&mut self, place: CostPlace) -> u32 {
        let place = match self.grain {
            // Costs add up per function anyway.
            Grain::Functions => CostPlace { file: NameId::NONE, line: 0, address: 0, ..place },
            Grain::CallSites | Grain::Frames => place,
        };
        let (places, costs, width) = (&mut self.places, &mut self.costs, self.width);
        *self.place_index.entry(place).or_insert_with(|| {
            places.push(place);
            costs.resize(costs.len() + width, 0);
            places.len() as u32 - 1
        })
    }

    /// Sum of all self costs of one event.
    pub fn total(&self, event: usize) -> i64 {
        let costs = self.costs.iter().skip(event).step_by(self.width.max(1));
        costs.fold(0, |sum, cost| sum.saturating_add(*cost))
    }

    /// Makes contexts of the graph.
    pub fn expand(
        self,
        builder: &mut ProfileBuilder,
        metrics: &[MetricId],
        scales: &[i64],
        calls: MetricId,
        thread: Option<ThreadId>,
    ) {
        let mut graph = CallGraph::new(self.grain, metrics.to_vec(), Some(calls));
        let mut known = Vec::with_capacity(self.functions.len());
        // A function is entered at the first place the file tells of it; calls are counted there.
        let mut entry: Vec<Option<CostPlace>> = vec![None; self.functions.len()];
        for place in self.places.iter().rev() {
            entry[place.function as usize] = Some(*place);
        }
        for ((key, line), entry) in self.functions.iter().zip(entry) {
            let function = self.function_of(builder, *key, *line);
            let frame = match entry {
                Some(place) => self.frame_of(builder, place, function),
                None => builder.frame(Frame::of(function)),
            };
            known.push((graph.function(frame), function));
        }
        let scale = |costs: &[i64]| -> Vec<i64> {
            costs.iter().zip(scales).map(|(cost, scale)| cost.saturating_mul(*scale)).collect()
        };
        let mut sites = Vec::with_capacity(self.places.len());
        for (row, place) in self.places.iter().enumerate() {
            let (node, function) = known[place.function as usize];
            let frame = self.frame_of(builder, *place, function);
            let site = graph.site(node, frame);
            graph.add_self(site, &scale(&self.costs[row * self.width..(row + 1) * self.width]));
            sites.push(site);
        }
        for (row, (place, callee, count)) in self.calls.iter().enumerate() {
            let costs = scale(&self.call_costs[row * self.width..(row + 1) * self.width]);
            graph.add_calls(sites[*place as usize], known[*callee as usize].0, *count, &costs);
        }
        graph.expand(builder, thread);
    }

    fn frame_of(
        &self,
        builder: &mut ProfileBuilder,
        place: CostPlace,
        function: FunctionId,
    ) -> FrameId {
        let own = self.functions[place.function as usize].0.file;
        let file = (place.file != own).then(|| self.names.known(place.file)).flatten();
        let file = file.map(|file| builder.string(file));
        let address = NonZeroU64::new(place.address);
        builder.frame(Frame { file, line: position(place.line), address, ..Frame::of(function) })
    }

    fn function_of(&self, builder: &mut ProfileBuilder, key: FunctionKey, line: u64) -> FunctionId {
        let name = self.names.text(key.name);
        // Callgrind tells recursive calls from the first by a number: `fib'2`.
        let (base, level) = name.rsplit_once('\'').unwrap_or((name, ""));
        let is_level = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit());
        let name = demangle(if is_level { base } else { name });
        let mut function = Function::named(builder.string(&name));
        function.line = position(line);
        let file = self.names.known(key.file).map(|file| builder.string(file));
        match self.names.known(key.object) {
            Some(object) => {
                function.layer = layer_of(object);
                function.component = Some(builder.string(object));
                function.file = file;
            }
            None => function.component = file,
        }
        if name.starts_with("php::")
            || name.starts_with("<built-in ")
            || name.starts_with("<method ")
        {
            function.layer = Layer::Runtime;
        }
        builder.function(function)
    }
}
