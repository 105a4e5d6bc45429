//! Questions and answers of one line each, over TCP.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait before a question is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers questions, each on a connection of its own.
pub async fn serve(answer: impl Fn(&str) -> String + Clone + 'static) -> tress_sim::Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let answer = answer.clone();
        spawn_local(async move {
            let mut stream = BufReader::new(stream);
            let question = read_line(&mut stream).await?;
            let answer = answer(&question);
            stream.write_all(format!("{answer}\n").as_bytes()).await
        });
    }
}

/// Asks once. An error says nothing: the server may have done what was asked for.
pub async fn ask(server: &str, question: &str) -> Result<String> {
    let asked = timeout(PATIENCE, async {
        let mut stream = BufReader::new(TcpStream::connect((server, 80)).await?);
        stream.write_all(format!("{question}\n").as_bytes()).await?;
        read_line(&mut stream).await
    });
    asked.await?
}

/// Asks until there is an answer.
pub async fn ask_again(server: &str, question: &str) -> String {
    loop {
        match ask(server, question).await {
            Ok(answer) => return answer,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn read_line(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.to_string()),
        None => Err(Error::from(ErrorKind::UnexpectedEof)),
    }
}
