//! `TRESS_CONSOLE`.

use crate::builder::{Builder, invalid};
use crate::console::Console;
use std::env::{self, VarError};
use std::io;

const VARIABLE: &str = "TRESS_CONSOLE";

/// Starts a console if the environment variable `TRESS_CONSOLE` has an address.
///
/// The address may be followed by `,token=…` and by `,next_free_port`:
///
/// ```sh
/// TRESS_CONSOLE=127.0.0.1:6670 ./program
/// TRESS_CONSOLE=0.0.0.0:6670,token=correct-horse ./program
/// TRESS_CONSOLE=127.0.0.1:6670,next_free_port ./program
/// ```
///
/// Returns `None` if the variable is not set, or empty.
///
/// # Errors
/// Returns an error of the kind `InvalidInput` if the variable makes no sense, and otherwise under the conditions of
/// [`Builder::start`].
///
/// # Examples
/// ```
/// // Stops at the end of `main`.
/// let _console = tress_console::from_environment()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn from_environment() -> io::Result<Option<Console>> {
    match env::var(VARIABLE) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => parse(&text)?.start().map(Some),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(invalid(&format!("{VARIABLE} is not valid Unicode"))),
    }
}

fn parse(text: &str) -> io::Result<Builder> {
    let mut words = text.split(',');
    let address = words.next().unwrap_or_default();
    let port = address
        .rsplit_once(':')
        .map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        return Err(nonsense("an address with a port, such as 127.0.0.1:6670"));
    }
    words.try_fold(
        Console::builder().address(address),
        |builder, word| match word.split_once('=') {
            Some(("token", token)) => Ok(builder.token(token)),
            None if word == "next_free_port" => Ok(builder.next_free_port(true)),
            _ => Err(nonsense(
                "only `token=…` and `next_free_port` after the address",
            )),
        },
    )
}

/// Does not quote the value, which may have a token.
fn nonsense(must_have: &str) -> io::Error {
    invalid(&format!("{VARIABLE} must have {must_have}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_after_the_address_are_options() {
        let builder = parse("127.0.0.1:6670,token=a=b,next_free_port").unwrap();
        let text = format!("{builder:?}");
        assert!(text.contains("\"127.0.0.1:6670\""), "{text}");
        assert!(text.contains("has_token: true"), "{text}");
        assert!(text.contains("next_free_port: true"), "{text}");
        assert!(!text.contains("a=b"), "{text}");
    }

    #[test]
    fn nonsense_is_an_error_that_names_the_variable_and_not_the_token() {
        for text in [
            "6670",
            "localhost",
            "127.0.0.1:65536",
            "127.0.0.1:1,tokn=secret",
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{text}");
            assert!(error.to_string().contains("TRESS_CONSOLE"), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
