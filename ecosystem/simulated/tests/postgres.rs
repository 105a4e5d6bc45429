//! tokio-postgres, with a small server that speaks its protocol: messages for start, simple and extended queries.

use eco_simulated::{Storm, is_stormy, persist};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use tress_sim::Result;

/// What the server can do: `double` takes a number and returns it twice as large; `echo` takes a text, `series`
/// takes a number and returns as many rows.
#[derive(Clone, Copy)]
struct Query {
    parameter: Option<Oid>,
    column: Option<Oid>,
}

/// Types by the server's numbers.
type Oid = u32;
const INT8: Oid = 20;
const TEXT: Oid = 25;

fn query(text: &str) -> Option<Query> {
    let (parameter, column) = match text {
        "double" => (Some(INT8), Some(INT8)),
        "series" => (Some(INT8), Some(INT8)),
        "echo" => (Some(TEXT), Some(TEXT)),
        "" => (None, None),
        _ => return None,
    };
    Some(Query { parameter, column })
}

/// Replies, until they are sent.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn message(&mut self, kind: u8, body: &[u8]) {
        self.0.push(kind);
        self.0.extend((body.len() as u32 + 4).to_be_bytes());
        self.0.extend(body);
    }

    fn ready(&mut self) {
        self.message(b'Z', b"I");
    }

    fn error(&mut self, code: &str, text: &str) {
        let body = format!("SERROR\0VERROR\0C{code}\0M{text}\0\0");
        self.message(b'E', body.as_bytes());
    }

    fn row_description(&mut self, column: Option<Oid>, format: u16) {
        let Some(column) = column else {
            return self.message(b'n', b"");
        };
        let mut body = 1u16.to_be_bytes().to_vec();
        body.extend(b"value\0");
        body.extend(0u32.to_be_bytes());
        body.extend(0u16.to_be_bytes());
        body.extend(column.to_be_bytes());
        let size: i16 = if column == INT8 { 8 } else { -1 };
        body.extend(size.to_be_bytes());
        body.extend((-1i32).to_be_bytes());
        body.extend(format.to_be_bytes());
        self.message(b'T', &body);
    }

    fn row(&mut self, value: &[u8]) {
        let mut body = 1u16.to_be_bytes().to_vec();
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value);
        self.message(b'D', &body);
    }

    fn complete(&mut self, tag: &str) {
        self.message(b'C', format!("{tag}\0").as_bytes());
    }
}

/// The fields of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(io::ErrorKind::InvalidData)?;
        self.0 = rest;
        Ok(taken)
    }

    fn text(&mut self) -> io::Result<&'a str> {
        let length = self
            .0
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(io::ErrorKind::InvalidData)?;
        let text = self.take(length + 1)?;
        std::str::from_utf8(&text[..length]).map_err(io::Error::other)
    }

    fn short(&mut self) -> io::Result<u16> {
        Ok(u16::from_be_bytes(
            self.take(2)?.try_into().map_err(io::Error::other)?,
        ))
    }

    fn long(&mut self) -> io::Result<u32> {
        Ok(u32::from_be_bytes(
            self.take(4)?.try_into().map_err(io::Error::other)?,
        ))
    }
}

/// A connection of the server.
#[derive(Default)]
struct Session {
    statements: BTreeMap<String, String>,
    /// The query and its parameter, by the name of the portal.
    portals: BTreeMap<String, (String, Vec<u8>)>,
    /// After an error everything is left out, until the client asks to go on.
    has_failed: bool,
}

impl Session {
    fn simple(&mut self, text: &str, out: &mut Out) {
        for text in text.split(';').map(str::trim) {
            match text {
                "" => out.message(b'I', b""),
                "hello" => {
                    out.row_description(Some(TEXT), 0);
                    out.row(b"world");
                    out.complete("SELECT 1");
                }
                _ => {
                    out.error("42601", "syntax error");
                    break;
                }
            }
        }
        out.ready();
    }

    fn extended(&mut self, kind: u8, body: &[u8], out: &mut Out) -> io::Result<()> {
        let mut fields = Fields(body);
        match kind {
            b'P' => {
                let (name, text) = (fields.text()?, fields.text()?);
                match query(text) {
                    Some(_) => {
                        self.statements.insert(name.to_string(), text.to_string());
                        out.message(b'1', b"");
                    }
                    None => self.fail("42601", "syntax error", out),
                }
            }
            b'D' => {
                let kind = fields.take(1)?[0];
                let text = match kind {
                    b'S' => self.statements.get(fields.text()?),
                    _ => self.portals.get(fields.text()?).map(|(text, _)| text),
                };
                let Some(query) = text.and_then(|text| query(text)) else {
                    self.fail("26000", "no such statement", out);
                    return Ok(());
                };
                if kind == b'S' {
                    let mut body = (query.parameter.iter().count() as u16)
                        .to_be_bytes()
                        .to_vec();
                    body.extend(
                        query
                            .parameter
                            .iter()
                            .flat_map(|parameter| parameter.to_be_bytes()),
                    );
                    out.message(b't', &body);
                }
                out.row_description(query.column, u16::from(kind != b'S'));
            }
            b'B' => {
                let (portal, statement) = (fields.text()?, fields.text()?);
                for _ in 0..fields.short()? {
                    fields.short()?;
                }
                let mut parameter = Vec::new();
                for _ in 0..fields.short()? {
                    let length = fields.long()? as usize;
                    parameter = fields.take(length)?.to_vec();
                }
                match self.statements.get(statement) {
                    Some(text) => {
                        self.portals
                            .insert(portal.to_string(), (text.clone(), parameter));
                        out.message(b'2', b"");
                    }
                    None => self.fail("26000", "no such statement", out),
                }
            }
            b'E' => {
                let Some((text, parameter)) = self.portals.get(fields.text()?).cloned() else {
                    self.fail("34000", "no such portal", out);
                    return Ok(());
                };
                let number = parameter.as_slice().try_into().map(i64::from_be_bytes);
                match (text.as_str(), number) {
                    ("echo", _) => {
                        out.row(&parameter);
                        out.complete("SELECT 1");
                    }
                    ("double", Ok(number)) => match number.checked_mul(2) {
                        Some(doubled) => {
                            out.row(&doubled.to_be_bytes());
                            out.complete("SELECT 1");
                        }
                        None => self.fail("22003", "bigint out of range", out),
                    },
                    ("series", Ok(number)) => {
                        (0..number).for_each(|row| out.row(&row.to_be_bytes()));
                        out.complete(&format!("SELECT {number}"));
                    }
                    _ => self.fail("22023", "invalid parameter", out),
                }
            }
            b'C' => {
                let (kind, name) = (fields.take(1)?[0], fields.text()?);
                match kind {
                    b'S' => drop(self.statements.remove(name)),
                    _ => drop(self.portals.remove(name)),
                }
                out.message(b'3', b"");
            }
            _ => self.fail("0A000", "not supported", out),
        }
        Ok(())
    }

    fn fail(&mut self, code: &str, text: &str, out: &mut Out) {
        self.has_failed = true;
        out.error(code, text);
    }
}

async fn serve(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let length = stream.read_u32().await?;
    let mut start = vec![0; length as usize - 4];
    stream.read_exact(&mut start).await?;
    let mut out = Out::default();
    out.message(b'R', &0u32.to_be_bytes());
    out.message(b'S', b"server_version\x0017.0\0");
    out.message(b'S', b"client_encoding\x00UTF8\0");
    out.message(b'K', &[0; 8]);
    out.ready();
    let mut session = Session::default();
    loop {
        stream.write_all(&std::mem::take(&mut out.0)).await?;
        let kind = stream.read_u8().await?;
        let length = stream.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        stream.read_exact(&mut body).await?;
        match kind {
            b'X' => return Ok(()),
            b'Q' => session.simple(Fields(&body).text()?, &mut out),
            b'S' => {
                session.has_failed = false;
                out.ready();
            }
            b'H' => {}
            _ if session.has_failed => {}
            _ => session.extended(kind, &body, &mut out)?,
        }
    }
}

async fn server() -> Result {
    let listener = TcpListener::bind("0.0.0.0:5432").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        // Clients that give up are not the server's affair.
        tokio::spawn(serve(stream));
    }
}

type Failure = tokio_postgres::Error;

/// Passes on an error of the connection; one of the server must be this.
fn expect(error: Failure, code: SqlState) -> std::result::Result<(), Failure> {
    match error.code() {
        Some(found) => assert_eq!(*found, code),
        None => return Err(error),
    }
    Ok(())
}

/// Queries of all kinds, one after the other and at the same time.
async fn queries(client: &Client) -> std::result::Result<(), Failure> {
    let said = client.simple_query("hello; hello").await?;
    let rows = said.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get("value"),
        _ => None,
    });
    assert_eq!(rows.collect::<Vec<_>>(), ["world", "world"]);
    if let Err(error) = client.simple_query("goodbye").await {
        expect(error, SqlState::SYNTAX_ERROR)?;
    }
    let double = client.prepare("double").await?;
    assert_eq!(
        (double.params(), double.columns()[0].type_()),
        (&[Type::INT8][..], &Type::INT8)
    );
    let doubled = (0..20i64).map(|number| {
        let double = &double;
        async move {
            let row = client.query_one(double, &[&number]).await?;
            assert_eq!(
                row.get::<_, i64>("value"),
                2 * number,
                "each query gets its own reply"
            );
            Ok::<(), Failure>(())
        }
    });
    futures_util::future::try_join_all(doubled).await?;
    let text = "words ".repeat(1000);
    assert_eq!(
        client
            .query_one("echo", &[&text])
            .await?
            .get::<_, String>(0),
        text
    );
    let series = client.query("series", &[&2000i64]).await?;
    assert!(series.iter().map(|row| row.get::<_, i64>(0)).eq(0..2000));
    // An error ends its query only.
    match client.query_one(&double, &[&i64::MAX]).await {
        Err(error) => expect(error, SqlState::NUMERIC_VALUE_OUT_OF_RANGE)?,
        Ok(row) => panic!("no error: {row:?}"),
    }
    match client.prepare("nonsense").await {
        Err(error) => expect(error, SqlState::SYNTAX_ERROR)?,
        Ok(_) => panic!("no error"),
    }
    assert_eq!(
        client.query_one(&double, &[&21i64]).await?.get::<_, i64>(0),
        42
    );
    Ok(())
}

/// A session: some rounds of queries on a new connection.
async fn session() -> std::result::Result<(), Failure> {
    let (client, connection) =
        tokio_postgres::connect("host=server user=simulated connect_timeout=3", NoTls).await?;
    let connection = tokio::spawn(connection);
    for _ in 0..3 {
        queries(&client).await?;
    }
    drop(client);
    connection.await.expect("no panic")
}

#[tress_sim::test(seeds = 20)]
fn queries_get_their_own_rows() {
    let clients = ["one", "two", "three"];
    let storm = Storm {
        name: "postgres",
        servers: &["server"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("server", server);
        for client in clients {
            sim.client(client, async {
                let mut sessions = 0;
                while is_stormy() || sessions < 5 {
                    persist(Duration::from_secs(15), session).await;
                    sessions += 1;
                }
                Ok(())
            });
        }
    });
}
