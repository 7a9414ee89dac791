internal import HTTPDNSPrimitives

extension HTTPDNSMapping {
    /// Returns a rule from address texts, tried in this order: `.addresses(["203.0.113.7", "[2001:db8::7]:8443"])`.
    ///
    /// `apply` throws an error for bad text.
    public static func addresses(_ texts: [String]) -> HTTPDNSMapping {
        reading(texts.map { ($0, nil) })
    }

    /// Returns a rule from address texts with weights: `.weighted(["203.0.113.7": 95, "203.0.113.9": 5])`.
    ///
    /// Addresses with equal weights get equal shares. `apply` throws an error for bad text.
    public static func weighted(_ shares: KeyValuePairs<String, Int>) -> HTTPDNSMapping {
        reading(shares.map { ($0.key, $0.value) })
    }

    /// Returns a rule of last resort from address texts.
    ///
    /// The name is resolved as without a rule. These addresses are used when no source has an address. `apply` throws an error
    /// for bad text.
    public static func lastResort(_ texts: [String]) -> HTTPDNSMapping {
        reading(texts.map { ($0, nil) }) { .lastResort($0) }
    }

    /// Returns a rule that uses another name's addresses.
    ///
    /// `apply` throws an error for bad text.
    public static func via(_ name: String) -> HTTPDNSMapping {
        do {
            return HTTPDNSMapping(.via(try HTTPDNSName(name), takesIdentity: false))
        } catch {
            return HTTPDNSMapping(invalid: "via \(error)")
        }
    }

    /// A rule that sends the name to the system resolver.
    public static var bypass: HTTPDNSMapping { HTTPDNSMapping(.bypass) }

    private static func reading(
        _ shares: [(text: String, weight: Int?)],
        as action: ([Target]) -> Action = { .addresses($0) }
    ) -> HTTPDNSMapping {
        var targets: [Target] = []
        for (text, weight) in shares {
            do {
                let read = try AddressText(text)
                targets.append(Target(read.address, port: read.port, weight: weight))
            } catch {
                return HTTPDNSMapping(invalid: error.description)
            }
        }
        return HTTPDNSMapping(action(targets))
    }

    private init(invalid reason: String) {
        self.init(.bypass)
        content = .invalid(reason)
    }
}
