extension DNSName {
    /// Parses the presentation form (RFC 1035 section 5.1): labels between dots, with an optional last one; `\.`, `\\` and
    /// `\DDD` stand for octets. Returns `nil` for an empty label, a label of more than 63 octets, and a name of more than 255.
    ///
    /// ASCII letters become lower case; any other octet keeps its value (RFC 4343 section 3).
    package init?(presentation text: String) {
        if text == "." {
            self = .root
            return
        }
        var octets: [UInt8] = []
        var label: [UInt8] = []
        var hasOpenLabel = false

        func close() -> Bool {
            guard (1...Self.maximumLabelOctets).contains(label.count) else { return false }
            octets.append(UInt8(label.count))
            octets += label
            label = []
            return octets.count < Self.maximumOctets
        }
        var rest = Array(text.utf8)[...]
        while let octet = rest.popFirst() {
            hasOpenLabel = true
            switch octet {
            case UInt8(ascii: "."):
                guard close() else { return nil }
                hasOpenLabel = false
            case UInt8(ascii: "\\"):
                guard let escaped = Self.escapedOctet(&rest) else { return nil }
                label.append(Self.lowercased(escaped))
            default:
                label.append(Self.lowercased(octet))
            }
        }
        if hasOpenLabel || octets.isEmpty {
            guard close() else { return nil }
        }
        self.init(validatedOctets: octets + [0])
    }

    private static func escapedOctet(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard let first = rest.popFirst() else { return nil }
        guard let hundreds = digit(first) else { return first }
        guard let tens = rest.popFirst().flatMap(digit), let ones = rest.popFirst().flatMap(digit) else { return nil }
        return UInt8(exactly: hundreds * 100 + tens * 10 + ones)
    }

    private static func digit(_ octet: UInt8) -> Int? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) ? Int(octet - UInt8(ascii: "0")) : nil
    }
}
