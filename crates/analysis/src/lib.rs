//! The façade: questions in, plain answers out.
