// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The remaining life of a record when its message arrives, by the HTTP response that carries it.
struct HTTPFreshness: Hashable {
    /// The seconds that caches on the path have held the response (RFC 9111 section 5.1).
    let age: Int64
    /// The seconds that the response may be reused, where the service sends them (RFC 9111 section 5.2.2.1). 0 is ignored:
    /// gateways and web frameworks add `no-cache, max-age=0` to every response, and the records have lives of their own.
    let maximumAge: Int64?

    /// The largest number of seconds; a larger one counts as this one (RFC 9111 section 1.2.2).
    private static let maximumSeconds: Int64 = 2_147_483_648

    /// Reads `Age` and `Cache-Control`. An age that is not a number of seconds is ignored (RFC 9111 section 5.1). The first of
    /// several ages and the least of several `max-age` count.
    init(_ fields: HTTPFields) {
        let firstAge = fields.singleton(.age)?.value.split(separator: ",", omittingEmptySubsequences: false).first
        age = firstAge.flatMap { Self.seconds($0.utf8.trimmed) } ?? 0
        maximumAge = Self.directives(in: fields[.cacheControl] ?? "")
            .compactMap(Self.maximumAge(in:))
            .filter { $0 > 0 }
            .min()
    }

    /// Returns the remainder of a life of `seconds`, at least zero.
    func remaining(of seconds: UInt32) -> Duration {
        let life = min(Int64(seconds), maximumAge ?? .max)
        return .seconds(max(0, life - age))
    }

    /// Splits at the commas outside quotes (RFC 9110 section 5.6.4).
    private static func directives(in field: String) -> [[UInt8]] {
        var directives: [[UInt8]] = [[]]
        var isQuoted = false
        var isEscaped = false
        for octet in field.utf8 {
            if octet == UInt8(ascii: ","), !isQuoted {
                directives.append([])
                continue
            }
            if isEscaped {
                isEscaped = false
            } else if octet == UInt8(ascii: "\\"), isQuoted {
                isEscaped = true
            } else if octet == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
            directives[directives.count - 1].append(octet)
        }
        return directives
    }

    /// Returns the value of a `max-age` directive, which may be in quotes (RFC 9111 section 5.2).
    private static func maximumAge(in directive: [UInt8]) -> Int64? {
        let directive = directive.trimmed
        let name = "max-age="
        let isNamed = directive.prefix(name.utf8.count).elementsEqual(name.utf8) { $0 | 0x20 == $1 | 0x20 }
        guard isNamed else { return nil }
        var value = directive.dropFirst(name.utf8.count)
        let quote = UInt8(ascii: "\"")
        if value.count >= 2, value.first == quote, value.last == quote { value = value.dropFirst().dropLast() }
        return seconds(value)
    }

    private static func seconds(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = min(value * 10 + Int64(digit - UInt8(ascii: "0")), maximumSeconds)
        }
        return value
    }
}
