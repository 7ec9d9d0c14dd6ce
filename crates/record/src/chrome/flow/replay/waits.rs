//! Steps that wait for something: whether it is there yet.

use perfblame_words::counted;
use serde_json::{Value, json};

use crate::chrome::flow::find;
use crate::chrome::flow::place::FramePlace;
use crate::chrome::flow::snag::Snag;
use crate::chrome::flow::world::{Element, plain, thrown};
use crate::chrome::flow::{Operator, WaitForElement};

/// Whether the elements are there, or are not, as the step wants it.
pub(super) fn wait_for_element(place: &FramePlace<'_>, wait: &WaitForElement) -> Result<(), Snag> {
    let elements = if wait.attributes.is_none() && wait.properties.is_none() {
        None
    } else {
        Some(find::all(&place.world, &wait.selectors)?)
    };
    let found = match &elements {
        Some(elements) => elements.len(),
        None => find::count(&place.world, &wait.selectors)?,
    };
    let mut holds = wait.operator.holds(found, wait.count);
    let mut but = "";
    if let (true, Some(elements), Some(attributes)) = (holds, &elements, &wait.attributes) {
        let function =
            "function(wanted, ...elements) { return this.haveAttributes(elements, wanted); }";
        let mut arguments = vec![plain(Value::Object(attributes.clone()))];
        arguments.extend(elements.iter().map(Element::argument));
        holds = place.world.value(function, &arguments)? == true;
        but = ", but not with these attributes";
    }
    if let (true, Some(elements), Some(properties)) = (holds, &elements, &wait.properties) {
        for element in elements {
            holds &= has_properties(element, &Value::Object(properties.clone()))?;
        }
        but = ", but not with these properties";
    }
    if holds == wait.visible {
        return Ok(());
    }
    let elements = counted(found as u64, "element was", "elements were");
    let operator = match wait.operator {
        Operator::AtLeast => "at least",
        Operator::Exactly => "exactly",
        Operator::AtMost => "at most",
    };
    let not = if wait.visible { "" } else { "not " };
    let but = if wait.visible { but } else { "" };
    Err(Snag::yet(format!("{elements} found{but} (wanted: {not}{operator} {})", wait.count)))
}

/// Compares properties as the page's scripts see them.
fn has_properties(element: &Element<'_>, wanted: &Value) -> Result<bool, Snag> {
    const COMPARE: &str = "function(wanted) {
        const open = [[wanted, this]];
        while (open.length > 0) {
            const [a, b] = open.pop();
            if (a === b) continue;
            if (!(a instanceof Object) || b === null || (typeof b !== 'object' && typeof b !== 'function')) {
                return false;
            }
            for (const [key, value] of Object.entries(a)) open.push([value, b[key]]);
        }
        return true;
    }";
    let object = element.as_page_sees_it()?;
    let answer = element.world.session.call(
        "Runtime.callFunctionOn",
        json!({
            "functionDeclaration": COMPARE,
            "objectId": object,
            "arguments": [plain(wanted.clone())],
            "returnByValue": true,
        }),
    )?;
    thrown(&answer)?;
    Ok(answer["result"]["value"] == true)
}

/// Whether an expression is true now, for the page's own scripts.
pub(super) fn wait_for_expression(place: &FramePlace<'_>, expression: &str) -> Result<(), Snag> {
    let document = place.world.object("function() { return document; }", &[])?;
    let document = document.ok_or_else(|| Snag::yet("there is no document"))?;
    // Lines of its own, as an expression may end in a comment.
    let function = format!(
        "function() {{ return (async function() {{ return Boolean(await (\n{expression}\n)); }})(); }}"
    );
    let answer = place.world.session.call(
        "Runtime.callFunctionOn",
        json!({
            "functionDeclaration": function,
            "objectId": document.as_page_sees_it()?,
            "returnByValue": true,
            "awaitPromise": true,
        }),
    )?;
    match thrown(&answer) {
        Ok(()) if answer["result"]["value"] == true => Ok(()),
        Ok(()) => Err(Snag::yet("the expression was not true")),
        // What it needs may come later.
        Err(Snag::Threw(why)) => Err(Snag::yet(format!("the expression threw {why}"))),
        Err(other) => Err(other),
    }
}
