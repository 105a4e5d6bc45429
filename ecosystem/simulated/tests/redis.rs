//! The client of redis, with a small server that speaks its protocol.

use eco_simulated::{Storm, is_stormy, persist};
use futures_util::StreamExt;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client, RedisResult};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tress_sim::Result;

/// What a server keeps, for as long as it runs.
struct Server {
    values: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
    published: broadcast::Sender<(Vec<u8>, Vec<u8>)>,
}

async fn server() -> Result {
    let listener = TcpListener::bind("0.0.0.0:6379").await?;
    let server = Rc::new(Server {
        values: RefCell::default(),
        published: broadcast::channel(100).0,
    });
    loop {
        let (stream, _) = listener.accept().await?;
        // Clients that give up are not the server's affair.
        tokio::task::spawn_local(serve(server.clone(), stream));
    }
}

/// Reads a command: an array of strings.
async fn read_command(from: &mut BufReader<impl AsyncReadExt + Unpin>) -> io::Result<Vec<Vec<u8>>> {
    let words = read_length(from, b'*').await?;
    let mut command = Vec::new();
    for _ in 0..words {
        let mut word = vec![0; read_length(from, b'$').await? + 2];
        from.read_exact(&mut word).await?;
        word.truncate(word.len() - 2);
        command.push(word);
    }
    Ok(command)
}

async fn read_length(
    from: &mut BufReader<impl AsyncReadExt + Unpin>,
    kind: u8,
) -> io::Result<usize> {
    let mut line = String::new();
    from.read_line(&mut line).await?;
    let length = line
        .strip_prefix(char::from(kind))
        .and_then(|rest| rest.trim_end().parse().ok());
    length.ok_or(io::ErrorKind::InvalidData.into())
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

async fn serve(server: Rc<Server>, mut stream: TcpStream) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read);
    loop {
        let command = read_command(&mut read).await?;
        let name = command[0].to_ascii_uppercase();
        let reply = match (name.as_slice(), &command[1..]) {
            (b"PING", _) => b"+PONG\r\n".to_vec(),
            (b"CLIENT" | b"SELECT", _) => b"+OK\r\n".to_vec(),
            (b"ECHO", [said]) => bulk(said),
            (b"SET", [key, value]) => {
                server
                    .values
                    .borrow_mut()
                    .insert(key.clone(), value.clone());
                b"+OK\r\n".to_vec()
            }
            (b"GET", [key]) => match server.values.borrow().get(key) {
                Some(value) => bulk(value),
                None => b"$-1\r\n".to_vec(),
            },
            (b"INCR" | b"INCRBY", [key, by @ ..]) => {
                let number = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).parse::<i64>();
                let mut values = server.values.borrow_mut();
                let old = values.get(key).map_or(Ok(0), number);
                match (old, by.first().map_or(Ok(1), number)) {
                    (Ok(old), Ok(by)) => {
                        let new = (old + by).to_string();
                        values.insert(key.clone(), new.clone().into_bytes());
                        format!(":{new}\r\n").into_bytes()
                    }
                    _ => b"-ERR value is not an integer or out of range\r\n".to_vec(),
                }
            }
            (b"PUBLISH", [channel, message]) => {
                let heard = server
                    .published
                    .send((channel.clone(), message.clone()))
                    .unwrap_or(0);
                format!(":{heard}\r\n").into_bytes()
            }
            (b"SUBSCRIBE", [channel]) => {
                let subscribed =
                    [&b"*3\r\n$9\r\nsubscribe\r\n"[..], &bulk(channel), b":1\r\n"].concat();
                let mut published = server.published.subscribe();
                write.write_all(&subscribed).await?;
                loop {
                    let Ok((to, message)) = published.recv().await else {
                        return Ok(());
                    };
                    if to == *channel {
                        let told =
                            [&b"*3\r\n$7\r\nmessage\r\n"[..], &bulk(&to), &bulk(&message)].concat();
                        write.write_all(&told).await?;
                    }
                }
            }
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        write.write_all(&reply).await?;
    }
}

fn client() -> RedisResult<Client> {
    Client::open("redis://server:6379/")
}

/// Commands one by one, by twos, and by many tasks, on a connection that is made again when it fails.
async fn commands(name: &str, round: usize, manager: &ConnectionManager) -> RedisResult<()> {
    let mut connection = manager.clone();
    let key = format!("{name}/{round}");
    let () = connection.set(&key, round).await?;
    let (got, missing): (Option<usize>, Option<usize>) = redis::pipe()
        .get(&key)
        .get("missing")
        .query_async(&mut connection)
        .await?;
    // The server forgets everything when it crashes, but nothing else.
    assert!(got.is_none_or(|got| got == round), "{got:?}");
    assert_eq!(missing, None);
    let mut echoes = tokio::task::JoinSet::new();
    for number in 0..10 {
        let mut connection = manager.clone();
        echoes.spawn(async move {
            let sent = "x".repeat(number * 100);
            let said: String = redis::cmd("ECHO")
                .arg(&sent)
                .query_async(&mut connection)
                .await?;
            assert_eq!(said, sent, "each task gets its own reply");
            Ok::<(), redis::RedisError>(())
        });
    }
    while let Some(ended) = echoes.join_next().await {
        ended.expect("no panic")?;
    }
    let () = connection.set("text", "words").await?;
    let refused = connection.incr::<_, _, i64>("text", 1).await.unwrap_err();
    if refused.code() != Some("ERR")
        && refused.kind() != redis::ErrorKind::Server(redis::ServerErrorKind::ResponseError)
    {
        return Err(refused);
    }
    Ok(())
}

/// Adds to a counter, as often as it is told: more than once if a reply is lost.
async fn count(manager: &ConnectionManager) -> RedisResult<i64> {
    manager.clone().incr("counter", 1).await
}

/// Hears what it publishes. What an earlier attempt has published may arrive late, so each has its own channel.
async fn converse(channel: String) -> RedisResult<()> {
    let mut listener = client()?.get_async_pubsub().await?;
    listener.subscribe(&channel).await?;
    let mut speaker = client()?.get_multiplexed_async_connection().await?;
    let mut heard = listener.on_message();
    for number in 0..10 {
        let listeners: usize = speaker.publish(&channel, number).await?;
        // A server that has started again knows of no subscription.
        let next = if listeners == 0 {
            None
        } else {
            heard.next().await
        };
        let Some(message) = next else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        };
        assert_eq!(message.get_payload::<i32>()?, number);
    }
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn commands_are_answered_in_their_order() {
    let clients = ["one", "two", "three"];
    let storm = Storm {
        name: "redis",
        servers: &["server"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("server", server);
        for name in clients {
            sim.client(name, async move {
                let limit = Duration::from_secs(10);
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(Duration::from_secs(2)))
                    .set_response_timeout(Some(Duration::from_secs(2)));
                let manager = persist(limit, || async {
                    ConnectionManager::new_with_config(client()?, config.clone()).await
                });
                let manager = manager.await;
                let (mut round, mut conversations) = (0, 0);
                while is_stormy() || round < 5 {
                    persist(limit, || commands(name, round, &manager)).await;
                    let converse = || {
                        conversations += 1;
                        converse(format!("{name} {conversations}"))
                    };
                    persist(limit, converse).await;
                    round += 1;
                }
                // In the calm each is counted once, and the server does not crash: replies grow.
                persist(limit, || count(&manager)).await;
                let mut last = 0;
                for _ in 0..20 {
                    let counted = count(&manager).await?;
                    assert!(counted > last, "{counted} after {last}");
                    last = counted;
                }
                Ok(())
            });
        }
    });
}
