package import HTTPDNSMessages

extension DNSName {
    /// Creates the wire form of a host name, whose labels are within the limits by construction.
    package init(_ host: HTTPDNSName) {
        let text = host.description.utf8
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count + 2)
        for label in text.split(separator: UInt8(ascii: ".")) {
            octets.append(UInt8(truncatingIfNeeded: label.count))
            octets.append(contentsOf: label)
        }
        octets.append(0)
        self.init(validatedOctets: octets)
    }

    /// The name as a host name; `nil` when it is not one, such as the root or a name with a space in it.
    package var hostName: HTTPDNSName? {
        var text: [UInt8] = []
        text.reserveCapacity(octets.count)
        var rest = octets[...]
        while let length = rest.first, length > 0 {
            let label = rest.dropFirst().prefix(Int(length))
            guard label.allSatisfy(Self.isHostNameOctet) else { return nil }
            if !text.isEmpty { text.append(UInt8(ascii: ".")) }
            text.append(contentsOf: label)
            rest = rest.dropFirst(label.count + 1)
        }
        return try? HTTPDNSName(String(decoding: text, as: UTF8.self))
    }

    private static func isHostNameOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

extension DNSQuestion {
    package init(_ host: HTTPDNSName, type: DNSRecordType) {
        self.init(name: DNSName(host), type: type)
    }
}
