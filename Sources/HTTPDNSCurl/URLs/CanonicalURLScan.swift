/// Where the parts of a URL stand whose text is canonical already, and as plain as nearly all URLs of programs are.
///
/// libcurl's parser takes some 300 ns and eight allocations to give back what is in such a text as it stands. What is plain
/// enough is decided narrowly, so that there is nothing left that a parser could read in another way: `http://` or
/// `https://` in lower case, a name of letters, digits, hyphens and underscores whose last label begins with a letter (so
/// no program reads an address in it), a port without leading zeros that is not the scheme's own, and a path of at least a
/// slash, with an optional query, in which every byte may stand in a URL (RFC 3986 section 3.3 and 3.4).
/// Everything else is nil here and is libcurl's to read: user information, fragments, capitals, addresses, dots at the end, bytes
/// outside ASCII, and all mistakes. libcurl is given the same text in the end, and dials the host that it finds in it.
struct CanonicalURLScan {
    let scheme: ParsedURL.Scheme
    let host: Range<Int>
    let port: UInt16
    /// Where the path begins, which ends with the text unless a query follows it.
    let targetStart: Int

    /// A text that is longer is libcurl's to accept or refuse. It refuses 8 MB.
    private static let maximumBytes = 65_536

    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        let count = bytes.count
        guard count > 8, count <= Self.maximumBytes, Self.begins(bytes, with: "http") else { return nil }
        let isSecure = bytes[4] == UInt8(ascii: "s")
        var place = isSecure ? 5 : 4
        guard bytes[place] == UInt8(ascii: ":"), bytes[place + 1] == UInt8(ascii: "/"),
            bytes[place + 2] == UInt8(ascii: "/")
        else { return nil }
        place += 3
        scheme = isSecure ? .https : .http

        let hostStart = place
        var labelStart = place
        while place < count, bytes[place].isPlainInHost || bytes[place] == UInt8(ascii: ".") {
            if bytes[place] == UInt8(ascii: ".") {
                guard place > labelStart else { return nil }
                labelStart = place + 1
            }
            place += 1
        }
        guard place > labelStart, place < count, UInt8(ascii: "a")...UInt8(ascii: "z") ~= bytes[labelStart] else {
            return nil
        }
        host = hostStart..<place

        if bytes[place] == UInt8(ascii: ":") {
            place += 1
            guard let port = Self.port(bytes, &place), port != scheme.defaultPort else { return nil }
            self.port = port
        } else {
            port = scheme.defaultPort
        }

        guard place < count, bytes[place] == UInt8(ascii: "/") else { return nil }
        targetStart = place
        while place < count, bytes[place].isPlainInTarget { place += 1 }
        // libcurl's versions differ about a query of nothing.
        guard place == count, bytes[count - 1] != UInt8(ascii: "?") else { return nil }
    }

    private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, with word: StaticString) -> Bool {
        for place in 0..<word.utf8CodeUnitCount where bytes[place] != word.utf8Start[place] { return false }
        return true
    }

    /// The digits from a place on, which moves behind them; nil unless they are a port in its only short spelling.
    private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ place: inout Int) -> UInt16? {
        let start = place
        var value = 0
        while place < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[place] {
            guard place - start < 5 else { return nil }
            value = value * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        guard place > start, bytes[start] != UInt8(ascii: "0") else { return nil }
        return UInt16(exactly: value)
    }
}

// Differences and no ranges, which cost several times as much in these loops: below the first of a row they wrap round.
extension UInt8 {
    @inline(__always)
    private func isWithin(_ count: UInt8, from first: Unicode.Scalar) -> Bool { self &- UInt8(ascii: first) < count }

    /// Whether the byte may stand in a label of a name that is canonical.
    @inline(__always)
    fileprivate var isPlainInHost: Bool {
        isWithin(26, from: "a") || isWithin(10, from: "0") || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    /// RFC 3986 section 3.3 and 3.4: pchar, slash and question mark. The second row is `?@A...Z`, the third `$%&'()*+,-./0...9:;`.
    @inline(__always)
    fileprivate var isPlainInTarget: Bool {
        isWithin(26, from: "a") || isWithin(28, from: "?") || isWithin(24, from: "$") || self == UInt8(ascii: "=")
            || self == UInt8(ascii: "_") || self == UInt8(ascii: "!") || self == UInt8(ascii: "~")
    }
}
