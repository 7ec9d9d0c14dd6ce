//! Where a step is done: the page or the window it opened, and which frame of it.
//!
//! A frame may be in the page's process or in one of its own; either way it is reached through the element that holds
//! it, as that also tells where on the page it is.

use serde_json::json;

use super::snag::Snag;
use super::world::{Element, World, plain};
use crate::chrome::{Page, Session, Until};

/// A frame, and how to get from its corner to that of the page.
pub(super) struct FramePlace<'a> {
    /// Takes the mouse and the keys.
    pub page: Session<'a>,
    /// The page's target, which is its main frame, too.
    pub target: String,
    /// The frame.
    pub world: World<'a>,
    /// The elements that hold the frame, outermost first.
    holders: Vec<Element<'a>>,
}

/// Frames of a page by their address are looked for among so many.
const MOST_FRAMES: usize = 1000;

/// Worlds that were entered; good as long as their frame stays where it is.
#[derive(Default)]
pub(super) struct Worlds<'a>(Vec<World<'a>>);

impl<'a> Worlds<'a> {
    /// That of a frame.
    pub fn of(&mut self, session: Session<'a>, frame: &str) -> Result<World<'a>, Snag> {
        let known = self.0.iter_mut().find(|world| world.frame == frame);
        if let Some(world) = known
            && world.session.id() == session.id()
        {
            world.session = session;
            return Ok(world.clone());
        }
        self.forget(frame);
        let world = World::enter(session, frame)?;
        self.0.push(world.clone());
        Ok(world)
    }

    /// After its frame went elsewhere, or may have.
    pub fn forget(&mut self, frame: &str) {
        self.0.retain(|world| world.frame != frame);
    }

    /// After something failed that worked before.
    pub fn forget_all(&mut self) {
        self.0.clear();
    }
}

/// The place that a step names, if it is there now.
pub(super) fn locate<'a>(
    page: &Page<'a>,
    target: Option<&str>,
    frame: &[usize],
    worlds: &mut Worlds<'a>,
    until: Until<'a>,
) -> Result<FramePlace<'a>, Snag> {
    let main = page.session().with(until);
    let mut place = match target {
        None => FramePlace::of_page(main, page.target(), worlds)?,
        Some(address) => {
            let window = page
                .attached()
                .into_iter()
                .find(|attached| attached.kind == "page" && attached.url == address);
            match window {
                Some(window) => {
                    let session = page.session_of(&window).with(until);
                    FramePlace::of_page(session, &window.target, worlds)?
                }
                None => by_address(page, main, address, worlds)?,
            }
        }
    };
    for (depth, index) in frame.iter().enumerate() {
        let holder = place
            .world
            .object("function(place) { return this.frameAt(place); }", &[plain(*index)])?;
        let Some(holder) = holder else {
            let path: Vec<_> = frame.iter().take(depth + 1).map(ToString::to_string).collect();
            return Err(Snag::yet(format!("there is no frame [{}]", path.join(", "))));
        };
        place = place.inside(page, holder, worlds)?;
    }
    Ok(place)
}

/// A frame of the page by its address.
fn by_address<'a>(
    page: &Page<'a>,
    main: Session<'a>,
    address: &str,
    worlds: &mut Worlds<'a>,
) -> Result<FramePlace<'a>, Snag> {
    let mut open = vec![FramePlace::of_page(main, page.target(), worlds)?];
    let mut seen = 0;
    while let Some(place) = open.pop() {
        let here = place.world.value("function() { return location.href; }", &[])?;
        if here == address {
            return Ok(place);
        }
        let holders = place.world.objects("function() { return this.frames(); }", &[])?;
        for holder in holders.into_iter().rev() {
            seen += 1;
            if seen > MOST_FRAMES {
                return Err(Snag::never(format!("the page has more than {MOST_FRAMES} frames")));
            }
            // A frame can go while we look; the others stay.
            if let Ok(inner) = place.inside(page, holder, worlds) {
                open.push(inner);
            }
        }
    }
    Err(Snag::yet(format!("there is no page or frame at {address}")))
}

impl<'a> FramePlace<'a> {
    fn of_page(session: Session<'a>, target: &str, worlds: &mut Worlds<'a>) -> Result<Self, Snag> {
        let world = worlds.of(session.clone(), target)?;
        Ok(Self { page: session, target: target.to_owned(), world, holders: Vec::new() })
    }

    /// The frame that an element holds.
    fn inside(
        &self,
        page: &Page<'a>,
        holder: Element<'a>,
        worlds: &mut Worlds<'a>,
    ) -> Result<Self, Snag> {
        let session = &self.world.session;
        let described = session.call("DOM.describeNode", json!({ "objectId": holder.object }))?;
        let frame = described["node"]["frameId"].as_str();
        let frame = frame.ok_or_else(|| Snag::yet("a frame does not exist yet"))?;
        let own = page.attached().into_iter().find(|attached| attached.target == frame);
        let session = match own {
            Some(own) => page.session_of(&own).with(session.until()),
            None => session.clone(),
        };
        let world = worlds.of(session, frame)?;
        let mut holders = self.holders.clone();
        holders.push(holder);
        Ok(Self { page: self.page.clone(), target: self.target.clone(), world, holders })
    }

    /// The same place, with other time for its calls.
    pub fn with(mut self, until: Until<'a>) -> Self {
        self.page = self.page.with(until);
        let holders = self.holders.iter_mut().map(|holder| &mut holder.world);
        for world in holders.chain([&mut self.world]) {
            world.session = world.session.with(until);
        }
        self
    }

    /// Whether it is the page itself.
    pub fn is_whole_page(&self) -> bool {
        self.holders.is_empty()
    }

    /// From boxes in this frame to the first that can be hit, in the page: its corner and size.
    pub fn on_page(&self, mut boxes: Vec<Area>, size: (f64, f64)) -> Result<Area, Snag> {
        for area in &mut boxes {
            area.clip(size);
        }
        for holder in self.holders.iter().rev() {
            let origin = holder.world.value(
                "function(element) { return this.origin(element); }",
                &[holder.argument()],
            )?;
            if origin.is_null() {
                return Err(Snag::yet("its frame is not visible"));
            }
            let number = |value: &serde_json::Value| value.as_f64().unwrap_or_default();
            let size = (number(&origin["size"][0]), number(&origin["size"][1]));
            for area in &mut boxes {
                area.x += number(&origin["x"]);
                area.y += number(&origin["y"]);
                area.clip(size);
            }
        }
        let hit = boxes.into_iter().find(|area| area.width >= 1.0 && area.height >= 1.0);
        hit.ok_or_else(|| Snag::yet("an element was found, but no part of it can be clicked"))
    }
}

/// A part of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    /// What lies within a document of this size.
    fn clip(&mut self, (width, height): (f64, f64)) {
        let one = |start: &mut f64, length: &mut f64, most: f64| {
            let room = if *start >= 0.0 { most - *start } else { most };
            *length = (*length + start.min(0.0)).min(room).max(0.0);
            *start = start.max(0.0);
        };
        one(&mut self.x, &mut self.width, width);
        one(&mut self.y, &mut self.height, height);
    }

    /// Its middle.
    pub fn middle(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(area: [f64; 4], wanted: [f64; 4]) {
        let [x, y, width, height] = area;
        let mut area = Area { x, y, width, height };
        area.clip((100.0, 50.0));
        let [x, y, width, height] = wanted;
        assert_eq!(area, Area { x, y, width, height });
    }

    #[test]
    fn what_is_out_of_the_document_is_cut() {
        check([10.0, 10.0, 20.0, 20.0], [10.0, 10.0, 20.0, 20.0]);
        check([-5.0, -5.0, 20.0, 20.0], [0.0, 0.0, 15.0, 15.0]);
        check([90.0, 45.0, 20.0, 20.0], [90.0, 45.0, 10.0, 5.0]);
        check([-50.0, 200.0, 20.0, 20.0], [0.0, 200.0, 0.0, 0.0]);
        check([-50.0, 0.0, 500.0, 20.0], [0.0, 0.0, 100.0, 20.0]);
    }
}
