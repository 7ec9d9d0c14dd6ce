//! Small classes made by hand, in small jars made by hand.

mod hostile;
mod jars;
mod maker;
mod methods;
