//! User flows: what the Recorder panel of DevTools exports as JSON, read, checked and replayed in a page.
//!
//! The file is whatever the panel, its extensions or a person wrote, so [`Flow::parse`] takes nothing for granted: what
//! it hands out can be replayed without another look at the JSON, and what it refuses is named by step and field.
//! What a step does follows the `@puppeteer/replay` package, the panel's own engine: the same elements are found, the
//! same events reach the page. Where we differ on purpose, `docs/flows.md` says so.

mod failure;
mod find;
mod input;
mod keys;
mod navigation;
mod parse;
mod place;
mod replay;
mod screenshot;
mod selector;
mod site;
mod snag;
mod world;

use std::time::Duration;

pub use failure::StepFailure;
pub use parse::FlowError;
pub use replay::{ReplayOptions, Replayed, replay};
pub use selector::{Selector, SelectorKind, SelectorPart};

/// A recording: steps to take in a page, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Flow {
    /// What its author calls it.
    pub title: String,
    /// How long a step may take where it does not say so itself.
    pub timeout: Option<Duration>,
    /// The attribute that selectors were made from; of interest to the panel only.
    pub selector_attribute: Option<String>,
    /// What to do.
    pub steps: Vec<Step>,
}

/// One thing to do, where, and what it should lead to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// What to do.
    pub action: Action,
    /// The address of another page or frame to do it in; none is the page of the flow.
    pub target: Option<String>,
    /// Which child frame, of it which child frame and so on; empty is the page itself.
    pub frame: Vec<usize>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Navigations that the step must start.
    pub asserted: Vec<Navigation>,
}

/// A navigation that is expected, with where it led when it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Navigation {
    /// The address then.
    pub url: Option<String>,
    /// The title then.
    pub title: Option<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Goes to an address and waits until it is loaded.
    Navigate {
        /// The address.
        url: String,
    },
    /// Sets the size and kind of the screen.
    SetViewport(Viewport),
    /// Makes the network slow; no speed at all is no network.
    EmulateNetworkConditions {
        /// Bytes per second.
        download: f64,
        /// Bytes per second.
        upload: f64,
        /// Milliseconds.
        latency: f64,
    },
    /// Presses and releases a button of the mouse.
    Click(Click),
    /// The same twice.
    DoubleClick(Click),
    /// Moves the mouse there.
    Hover {
        /// The element, by alternatives.
        selectors: Vec<Selector>,
    },
    /// Sets the value of a field, a list or a check box.
    Change {
        /// The element, by alternatives.
        selectors: Vec<Selector>,
        /// The value.
        value: String,
    },
    /// Presses a key and keeps it down.
    KeyDown {
        /// Its name.
        key: String,
    },
    /// Lets go of a key.
    KeyUp {
        /// Its name.
        key: String,
    },
    /// Scrolls an element or the whole page.
    Scroll {
        /// The element, by alternatives; none is the page.
        selectors: Vec<Selector>,
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
    },
    /// Waits until as many elements are there.
    WaitForElement(WaitForElement),
    /// Waits until an expression is true.
    WaitForExpression {
        /// JavaScript.
        expression: String,
    },
    /// Closes the page.
    Close,
    /// A step of our own.
    Custom(Custom),
}

/// Size and kind of a screen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Viewport {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// Pixels of the device per CSS pixel.
    pub device_scale_factor: f64,
    /// Whether the page's `meta` tag of the viewport counts.
    pub is_mobile: bool,
    /// Whether there are events of touch.
    pub has_touch: bool,
    /// Whether it is turned.
    pub is_landscape: bool,
}

/// Where and how to click.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Click {
    /// The element, by alternatives.
    pub selectors: Vec<Selector>,
    /// Pixels from its left edge.
    pub offset_x: f64,
    /// Pixels from its upper edge.
    pub offset_y: f64,
    /// Which button.
    pub button: Button,
    /// What it was clicked with when it was recorded.
    pub device: Device,
    /// How long the button stays down.
    pub duration: Option<Duration>,
}

/// A button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Button {
    /// The left one.
    #[default]
    Primary,
    /// The middle one.
    Auxiliary,
    /// The right one.
    Secondary,
    /// The one that goes back.
    Back,
    /// The one that goes forward.
    Forward,
}

/// A pointing device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Device {
    /// A mouse.
    #[default]
    Mouse,
    /// A pen.
    Pen,
    /// A finger.
    Touch,
}

/// A condition on elements.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaitForElement {
    /// The elements, by alternatives.
    pub selectors: Vec<Selector>,
    /// How their number compares to `count`.
    pub operator: Operator,
    /// The number.
    pub count: f64,
    /// Whether the condition must hold, or must not.
    pub visible: bool,
    /// Attributes that all of them have, by name.
    pub attributes: Option<serde_json::Map<String, serde_json::Value>>,
    /// Properties that all of them have; objects may have more than these.
    pub properties: Option<serde_json::Map<String, serde_json::Value>>,
}

/// How numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Operator {
    /// `>=`.
    #[default]
    AtLeast,
    /// `==`.
    Exactly,
    /// `<=`.
    AtMost,
}

/// A custom step that we know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Custom {
    /// `perfblame:sleep`: does nothing for a while.
    Sleep(Duration),
    /// `perfblame:mark`: puts a name into the trace.
    Mark(String),
}

/// Of steps whose file does not say how long they may take, as in the panel.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

impl Action {
    /// The word of the file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Navigate { .. } => "navigate",
            Self::SetViewport(_) => "setViewport",
            Self::EmulateNetworkConditions { .. } => "emulateNetworkConditions",
            Self::Click(_) => "click",
            Self::DoubleClick(_) => "doubleClick",
            Self::Hover { .. } => "hover",
            Self::Change { .. } => "change",
            Self::KeyDown { .. } => "keyDown",
            Self::KeyUp { .. } => "keyUp",
            Self::Scroll { .. } => "scroll",
            Self::WaitForElement(_) => "waitForElement",
            Self::WaitForExpression { .. } => "waitForExpression",
            Self::Close => "close",
            Self::Custom(_) => "customStep",
        }
    }

    /// Alternatives for the element it is about; empty where it is about none.
    pub fn selectors(&self) -> &[Selector] {
        match self {
            Self::Click(click) | Self::DoubleClick(click) => &click.selectors,
            Self::Hover { selectors }
            | Self::Change { selectors, .. }
            | Self::Scroll { selectors, .. } => selectors,
            Self::WaitForElement(wait) => &wait.selectors,
            _ => &[],
        }
    }
}

impl Operator {
    /// Whether a number of elements will do.
    pub(crate) fn holds(self, found: usize, wanted: f64) -> bool {
        let found = found as f64;
        match self {
            Self::AtLeast => found >= wanted,
            Self::Exactly => (found - wanted).abs() < 0.5,
            Self::AtMost => found <= wanted,
        }
    }
}
