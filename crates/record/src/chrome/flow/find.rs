//! Elements by their selectors, and what it takes until they can be acted upon.

use serde_json::{Value, json};

use super::Selector;
use super::place::{Area, FramePlace};
use super::selector::{SelectorKind, SelectorPart, aria};
use super::snag::Snag;
use super::world::{Element, World, plain};

/// Nodes of the accessibility tree that are no elements.
const NO_ELEMENTS: [&str; 2] = ["StaticText", "InlineTextBox"];

/// The first element that one of the alternatives leads to, which are tried in order.
pub(super) fn first<'a>(world: &World<'a>, alternatives: &[Selector]) -> Result<Element<'a>, Snag> {
    let mut wrong = Vec::new();
    for selector in alternatives {
        match first_of(world, selector) {
            Ok(Some(element)) => return Ok(element),
            Ok(None) => {}
            Err(Snag::Threw(why)) => wrong.push(why),
            Err(snag) => return Err(snag),
        }
    }
    Err(not_found(alternatives, &wrong))
}

/// All elements of the first alternative that leads to any.
pub(super) fn all<'a>(
    world: &World<'a>,
    alternatives: &[Selector],
) -> Result<Vec<Element<'a>>, Snag> {
    let mut wrong = Vec::new();
    for selector in alternatives {
        match all_of(world, selector) {
            Ok(elements) if elements.is_empty() => {}
            Ok(elements) => return Ok(elements),
            Err(Snag::Threw(why)) => wrong.push(why),
            Err(snag) => return Err(snag),
        }
    }
    if wrong.len() == alternatives.len() {
        return Err(not_found(alternatives, &wrong));
    }
    Ok(Vec::new())
}

/// How many elements the first alternative that leads to any leads to. Cheaper than [`all`].
pub(super) fn count(world: &World<'_>, alternatives: &[Selector]) -> Result<usize, Snag> {
    let by_script = |part: &SelectorPart| part.kind != SelectorKind::Aria;
    if !alternatives.iter().all(|selector| selector.0.iter().all(by_script)) {
        return all(world, alternatives).map(|elements| elements.len());
    }
    let mut wrong = Vec::new();
    for selector in alternatives {
        let count = "function(chain) { return this.find(document, chain).length; }";
        match world.value(count, &[plain(chain(&selector.0))]) {
            Ok(found) => match found.as_u64() {
                None | Some(0) => {}
                Some(found) => return Ok(usize::try_from(found).unwrap_or(usize::MAX)),
            },
            Err(Snag::Threw(why)) => wrong.push(why),
            Err(snag) => return Err(snag),
        }
    }
    if wrong.len() == alternatives.len() {
        return Err(not_found(alternatives, &wrong));
    }
    Ok(0)
}

/// Selectors that are all wrong will not get better.
fn not_found(alternatives: &[Selector], wrong: &[String]) -> Snag {
    if wrong.is_empty() {
        return Snag::yet("no element was found");
    }
    let why = wrong.join("; ");
    if wrong.len() == alternatives.len() {
        return Snag::never(format!("no selector can be used: {why}"));
    }
    Snag::yet(format!("no element was found, and some selectors cannot be used: {why}"))
}

/// As the script in the page takes it.
fn chain(parts: &[SelectorPart]) -> Value {
    parts.iter().map(|part| json!([part.kind.word(), part.text])).collect()
}

fn first_of<'a>(world: &World<'a>, selector: &Selector) -> Result<Option<Element<'a>>, Snag> {
    if selector.0.iter().any(|part| part.kind == SelectorKind::Aria) {
        return Ok(all_of(world, selector)?.into_iter().next());
    }
    let function = "function(chain) { return this.find(document, chain)[0]; }";
    world.object(function, &[plain(chain(&selector.0))])
}

fn all_of<'a>(world: &World<'a>, selector: &Selector) -> Result<Vec<Element<'a>>, Snag> {
    let mut roots: Vec<Element<'a>> = Vec::new();
    roots.extend(world.object("function() { return document; }", &[])?);
    let mut parts = &selector.0[..];
    while let Some(part) = parts.first() {
        let mut found = Vec::new();
        if part.kind == SelectorKind::Aria {
            parts = parts.get(1..).unwrap_or_default();
            for root in &roots {
                found.extend(by_aria(world, root, &part.text)?);
            }
        } else {
            let end = parts
                .iter()
                .position(|part| part.kind == SelectorKind::Aria)
                .unwrap_or(parts.len());
            let (now, rest) = parts.split_at(end);
            parts = rest;
            let function = "function(root, chain) { return this.find(root, chain); }";
            for root in &roots {
                found.extend(world.objects(function, &[root.argument(), plain(chain(now))])?);
            }
        }
        roots = found;
    }
    Ok(roots)
}

fn by_aria<'a>(
    world: &World<'a>,
    root: &Element<'a>,
    text: &str,
) -> Result<Vec<Element<'a>>, Snag> {
    let wanted = aria(text).map_err(Snag::Threw)?;
    let inside = "function(root) { return this.inside(root); }";
    let Some(root) = world.object(inside, &[root.argument()])? else { return Ok(Vec::new()) };
    let mut query = json!({ "objectId": root.object });
    if let Some(name) = wanted.name {
        query["accessibleName"] = name.into();
    }
    if let Some(role) = wanted.role {
        query["role"] = role.into();
    }
    let answer = world.session.call("Accessibility.queryAXTree", query)?;
    let mut found = Vec::new();
    for node in answer["nodes"].as_array().into_iter().flatten() {
        let role = node["role"]["value"].as_str();
        if node["ignored"] == true || role.is_none_or(|role| NO_ELEMENTS.contains(&role)) {
            continue;
        }
        found.extend(world.adopt(&node["backendDOMNodeId"])?);
    }
    Ok(found)
}

/// What an element must be before it is acted upon, besides in view and at rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing else.
    InView,
    /// Not disabled.
    Enabled,
    /// Wholly in view, as far as it fits, as the mouse goes there.
    Whole,
    /// Both.
    WholeAndEnabled,
}

/// Gets an element into view, and says where it is on the page or what is amiss.
pub(super) fn ready(
    place: &FramePlace<'_>,
    element: &Element<'_>,
    need: Need,
) -> Result<Area, Snag> {
    let enabled = matches!(need, Need::Enabled | Need::WholeAndEnabled);
    let whole = matches!(need, Need::Whole | Need::WholeAndEnabled);
    let answer = place.world.value(
        "function(element, enabled, whole) { return this.ready(element, enabled, whole); }",
        &[element.argument(), plain(enabled), plain(whole)],
    )?;
    if let Some(why) = answer["why"].as_str() {
        return Err(Snag::yet(match why {
            "gone" => "an element was found, but it was removed again",
            "no element" => "the selector found something that is not an element",
            "hidden" => "an element was found, but it is not visible",
            "out of view" => "an element was found, but it cannot be scrolled into view",
            "moving" => "an element was found, but it keeps moving",
            "disabled" => "an element was found, but it is disabled",
            other => other,
        }));
    }
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let boxes = answer["boxes"].as_array().into_iter().flatten().map(|area| Area {
        x: number(&area[0]),
        y: number(&area[1]),
        width: number(&area[2]),
        height: number(&area[3]),
    });
    let boxes: Vec<_> = boxes.collect();
    if !whole {
        // The mouse does not go there.
        return Ok(boxes.first().copied().unwrap_or_default());
    }
    let size = (number(&answer["size"][0]), number(&answer["size"][1]));
    place.on_page(boxes, size)
}
