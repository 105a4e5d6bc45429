//! madsim's runtime and nodes, by the names that the other two have.

use madsim::Config;
use madsim::net::NetSim;
use madsim::runtime::{NodeHandle, Runtime};
use madsim::task::JoinHandle;
use std::collections::HashMap;
use std::error::Error;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub type Result = std::result::Result<(), Box<dyn Error>>;

#[derive(Default)]
pub struct Builder {
    seed: u64,
    limit: Duration,
    min_latency: Duration,
    max_latency: Duration,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    pub fn rng_seed(&mut self, seed: u64) -> &mut Builder {
        self.seed = seed;
        self
    }

    pub fn simulation_duration(&mut self, limit: Duration) -> &mut Builder {
        self.limit = limit;
        self
    }

    pub fn min_message_latency(&mut self, latency: Duration) -> &mut Builder {
        self.min_latency = latency;
        self
    }

    pub fn max_message_latency(&mut self, latency: Duration) -> &mut Builder {
        self.max_latency = latency;
        self
    }

    pub fn build(&self) -> Sim<'static> {
        let mut config = Config::default();
        // The end is not part of the range.
        config.net.send_latency = self.min_latency..self.max_latency + Duration::from_nanos(1);
        let mut runtime = Runtime::with_seed_and_config(self.seed, config);
        runtime.set_time_limit(self.limit);
        Sim {
            runtime,
            addresses: HashMap::new(),
            clients: Vec::new(),
            elapsed: Duration::ZERO,
            messages: 0,
            lifetime: PhantomData,
        }
    }
}

pub struct Sim<'a> {
    runtime: Runtime,
    addresses: HashMap<String, IpAddr>,
    clients: Vec<JoinHandle<()>>,
    elapsed: Duration,
    messages: u64,
    lifetime: PhantomData<&'a ()>,
}

impl Sim<'_> {
    /// Returns the address of a name, which it has from now on.
    pub fn lookup(&mut self, name: impl Into<String>) -> IpAddr {
        let (name, number) = (name.into(), self.addresses.len() as u16 + 1);
        let [high, low] = number.to_be_bytes();
        let address = Ipv4Addr::new(192, 168, high, low).into();
        *self.addresses.entry(name).or_insert(address)
    }

    fn node(&mut self, name: String) -> NodeHandle {
        let ip = self.lookup(name.clone());
        let node = self.runtime.create_node().name(name.clone()).ip(ip).build();
        let named = async move { NetSim::current().add_dns_record(&name, ip) };
        self.runtime.block_on(named);
        node
    }

    pub fn host<F>(&mut self, name: &str, host: impl FnOnce() -> F)
    where
        F: Future<Output = Result> + Send + 'static,
    {
        let future = host();
        let node = self.node(name.to_string());
        node.spawn(async { future.await.expect("the host does not fail") });
    }

    pub fn client(
        &mut self,
        name: impl Into<String>,
        client: impl Future<Output = Result> + Send + 'static,
    ) {
        let node = self.node(name.into());
        let client = node.spawn(async { client.await.expect("the client ends well") });
        self.clients.push(client);
    }

    pub fn run(&mut self) -> Result {
        let clients = std::mem::take(&mut self.clients);
        let (elapsed, messages) = self.runtime.block_on(async {
            for client in clients {
                client.await?;
            }
            let elapsed = madsim::time::TimeHandle::current().elapsed();
            Ok::<_, madsim::task::JoinError>((elapsed, NetSim::current().stat().msg_count))
        })?;
        (self.elapsed, self.messages) = (elapsed, messages);
        Ok(())
    }

    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    pub fn messages(&self) -> u64 {
        self.messages
    }
}
