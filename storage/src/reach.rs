//! Which network addresses a store on the web may be at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far away a web host is. A store keeps to the reach of its own address, whatever names resolve to and
/// wherever it is redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Anywhere on the public internet, and nowhere else.
    Public,
    /// This machine alone.
    Loopback,
}

impl Reach {
    /// Returns the reach an address is in; `None` for private networks and addresses that name no host.
    pub(crate) fn of(address: IpAddr) -> Option<Self> {
        match address.to_canonical() {
            address if address.is_loopback() => Some(Self::Loopback),
            IpAddr::V4(address) => is_public_v4(address).then_some(Self::Public),
            IpAddr::V6(address) => is_public_v6(address).then_some(Self::Public),
        }
    }
}

/// Says whether anybody may have this address: all but the special ones of
/// <https://www.iana.org/assignments/iana-ipv4-special-registry> (checked 2026-11-18).
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224.., ..]              // this network, private, loopback, multicast, reserved, broadcast
            | [100, 64..=127, ..]               // carriers' own (CGNAT)
            | [169, 254, ..]                    // link-local, where clouds keep their metadata
            | [172, 16..=31, ..]                // private
            | [192, 0, 0 | 2, _]                // protocol assignments, documentation
            | [192, 88, 99, _]                  // relays of 6to4
            | [192, 168, ..]                    // private
            | [198, 18..=19, ..]                // benchmarks
            | [198, 51, 100, _] | [203, 0, 113, _] // documentation
    )
}

/// Says whether anybody may have this address: global unicast without its special parts
/// (<https://www.iana.org/assignments/iana-ipv6-special-registry>, checked 2026-11-18), and translated forms of
/// IPv4 addresses that anybody may have.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64, of which the last 32 bits are the IPv4 address; 6to4, where it follows the prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        // Protocol assignments (Teredo, ORCHID, benchmarks), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_public_loopback_or_neither() {
        let public = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "3ffe::1",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ];
        let loopback = ["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"];
        let neither = [
            // IPv4: this network, private, CGNAT, link-local, assignments, documentation, benchmarks, multicast, reserved.
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "169.254.0.0",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            // IPv6: unspecified, unique-local, link-local, site-local, multicast, documentation, Teredo, assignments.
            "::",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:1ff::1",
            "100::1",
            "5f00::1",
            "4000::1",
            // Forms of IPv4 addresses: mapped, compatible, NAT64 (also its local-use prefix), 6to4.
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "::127.0.0.1",
            "::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::101:101",
            "64:ff9b::1:101:101",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2002:c0a8:1::",
            "2002:a9fe:a9fe::1",
        ];
        let table = [
            (&public[..], Some(Reach::Public)),
            (&loopback[..], Some(Reach::Loopback)),
            (&neither[..], None),
        ];
        for (addresses, reach) in table {
            for address in addresses {
                assert_eq!(Reach::of(address.parse().unwrap()), reach, "{address}");
            }
        }
    }
}
