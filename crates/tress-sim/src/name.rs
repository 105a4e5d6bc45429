//! Hosts by name and by address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The names of a simulation. A name has an address from its first use on, also before there is such a host.
#[derive(Debug)]
pub(crate) struct Names {
    addresses: BTreeMap<String, IpAddr>,
    names: BTreeMap<IpAddr, String>,
    next: u64,
    is_v6: bool,
}

impl Names {
    pub(crate) fn new(is_v6: bool) -> Names {
        Names {
            addresses: BTreeMap::new(),
            names: BTreeMap::new(),
            next: 1,
            is_v6,
        }
    }

    fn make(&mut self) -> IpAddr {
        let [.., a, b, c, d, e, f, g, h] = self.next.to_be_bytes();
        self.next += 1;
        match self.is_v6 {
            true => {
                let pair = |one, other| u16::from_be_bytes([one, other]);
                Ipv6Addr::new(
                    0xfe80,
                    0,
                    0,
                    0,
                    pair(a, b),
                    pair(c, d),
                    pair(e, f),
                    pair(g, h),
                )
                .into()
            }
            false => Ipv4Addr::new(192, 168, g, h).into(),
        }
    }

    /// Returns the address of a name, which gets one now if it has none.
    fn address(&mut self, name: &str) -> IpAddr {
        if let Some(address) = self.addresses.get(name) {
            return *address;
        }
        let mut address = self.make();
        while self.names.contains_key(&address) {
            address = self.make();
        }
        self.addresses.insert(name.to_string(), address);
        self.names.insert(address, name.to_string());
        address
    }

    /// Returns the name of an address. One that was given as an address is its own name.
    pub(crate) fn name(&self, address: IpAddr) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }

    /// Notes an address that was given instead of a name.
    fn note(&mut self, address: IpAddr) {
        let own = || address.to_string();
        self.addresses.insert(own(), address);
        self.names.entry(address).or_insert_with(own);
    }

    fn all(&self) -> impl Iterator<Item = IpAddr> {
        self.names.keys().copied()
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What names one host: its name or its address.
///
/// A name that was not used before gets the next free address.
pub trait ToIpAddr: sealed::Sealed {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "called by this crate only")]
    fn address(&self, names: &mut Names) -> IpAddr;
}

/// What names several hosts: the name or address of one, a list of them, or [`Matching`], a function that says whether
/// a name is meant.
pub trait ToIpAddrs: sealed::Sealed {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "called by this crate only")]
    fn addresses(&self, names: &mut Names) -> Vec<IpAddr>;
}

macro_rules! names_one {
    ($($kind:ty: |$one:ident, $names:ident| $address:expr;)*) => {
        $(
            impl sealed::Sealed for $kind {}

            #[allow(private_interfaces, reason = "as for the trait")]
            impl ToIpAddr for $kind {
                fn address(&self, $names: &mut Names) -> IpAddr {
                    let $one = self;
                    $address
                }
            }

            #[allow(private_interfaces, reason = "as for the trait")]
            impl ToIpAddrs for $kind {
                fn addresses(&self, names: &mut Names) -> Vec<IpAddr> {
                    vec![self.address(names)]
                }
            }
        )*
    };
}

names_one! {
    &str: |name, names| parsed_or_named(name, names);
    String: |name, names| parsed_or_named(name, names);
    &String: |name, names| parsed_or_named(name, names);
    IpAddr: |address, names| noted(*address, names);
    Ipv4Addr: |address, names| noted((*address).into(), names);
    Ipv6Addr: |address, names| noted((*address).into(), names);
}

fn noted(address: IpAddr, names: &mut Names) -> IpAddr {
    names.note(address);
    address
}

fn parsed_or_named(name: &str, names: &mut Names) -> IpAddr {
    match name.parse() {
        Ok(address) => noted(address, names),
        Err(_) => names.address(name),
    }
}

impl<T: ToIpAddr> sealed::Sealed for [T] {}
impl<T: ToIpAddr> sealed::Sealed for &[T] {}
impl<T: ToIpAddr> sealed::Sealed for Vec<T> {}
impl<T: ToIpAddr, const N: usize> sealed::Sealed for [T; N] {}

#[allow(private_interfaces, reason = "as for the trait")]
impl<T: ToIpAddr> ToIpAddrs for &[T] {
    fn addresses(&self, names: &mut Names) -> Vec<IpAddr> {
        self.iter().map(|one| one.address(names)).collect()
    }
}

#[allow(private_interfaces, reason = "as for the trait")]
impl<T: ToIpAddr> ToIpAddrs for Vec<T> {
    fn addresses(&self, names: &mut Names) -> Vec<IpAddr> {
        self.as_slice().addresses(names)
    }
}

#[allow(private_interfaces, reason = "as for the trait")]
impl<T: ToIpAddr, const N: usize> ToIpAddrs for [T; N] {
    fn addresses(&self, names: &mut Names) -> Vec<IpAddr> {
        self.as_slice().addresses(names)
    }
}

/// The hosts whose name a function says yes to. One that was added by its address has that as its name.
///
/// # Examples
/// ```
/// use tress_sim::{Builder, Matching};
///
/// let mut sim = Builder::new().build();
/// for n in 0..3 {
///     sim.client(format!("node-{n}"), async { Ok(()) });
/// }
/// sim.client("proxy", async { Ok(()) });
/// let nodes = Matching(|name: &str| name.starts_with("node-"));
/// assert_eq!(sim.lookup_many(nodes).len(), 3);
/// sim.partition(nodes, "proxy");
/// # sim.run()?;
/// # Ok::<(), tress_sim::Error>(())
/// ```
///
/// With the crate `regex`, a pattern is `Matching(|name: &str| pattern.is_match(name))`.
#[derive(Debug, Clone, Copy)]
pub struct Matching<F>(pub F);

impl<F: Fn(&str) -> bool> sealed::Sealed for Matching<F> {}

#[allow(private_interfaces, reason = "as for the trait")]
impl<F: Fn(&str) -> bool> ToIpAddrs for Matching<F> {
    fn addresses(&self, names: &mut Names) -> Vec<IpAddr> {
        let is_meant = |address: &IpAddr| names.name(*address).is_some_and(&self.0);
        names.all().filter(is_meant).collect()
    }
}
