// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The directives of the `Cache-Control` fields of a message (RFC 9111 section 5.2).
package struct CacheControl: Hashable, Sendable {
    /// The largest number of seconds; a larger one counts as this one (RFC 9111 section 1.2.2).
    package static let maximumSeconds: Int64 = 2_147_483_648

    /// A directive with a number of seconds.
    package enum Seconds: Hashable, Sendable {
        case value(Int64)
        /// The value is missing or is not a number.
        case invalid

        /// The number; an invalid one counts as 0, so that the response is stale (RFC 9111 section 4.2.1).
        package var orZero: Int64 {
            switch self {
            case .value(let seconds): seconds
            case .invalid: 0
            }
        }
    }

    /// Whether there is a directive at all.
    package private(set) var isPresent = false
    package private(set) var isNoStore = false
    /// Whether the response must be validated before each use. A `no-cache` with field names counts as one without.
    package private(set) var isNoCache = false
    /// Whether the response is for one user. A `private` with field names counts as one without.
    package private(set) var isPrivate = false
    package private(set) var isPublic = false
    package private(set) var mustRevalidate = false
    package private(set) var proxyRevalidate = false
    package private(set) var mustUnderstand = false
    package private(set) var isImmutable = false
    package private(set) var onlyIfCached = false
    package private(set) var maximumAge: Seconds?
    package private(set) var sharedMaximumAge: Seconds?
    package private(set) var minimumFresh: Seconds?
    /// The staleness that a request accepts; `.value(.max)` for any.
    package private(set) var maximumStale: Seconds?
    package private(set) var staleWhileRevalidate: Seconds?
    package private(set) var staleIfError: Seconds?

    package init() {}

    /// Whether the response to a request with `Authorization` may be for others too (RFC 9111 section 3.5).
    package var permitsSharing: Bool { isPublic || sharedMaximumAge != nil || mustRevalidate }

    /// Reads the directives of all `Cache-Control` fields. Names are compared without case, and unknown ones are ignored.
    package init(_ fields: HTTPFields) {
        for field in fields[values: .cacheControl] {
            for directive in Self.directives(in: field) { take(directive.name, directive.value) }
        }
    }

    private mutating func take(_ name: String, _ value: String?) {
        isPresent = true
        switch name {
        case "no-store": isNoStore = true
        case "no-cache": isNoCache = true
        case "private": isPrivate = true
        case "public": isPublic = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maximumAge = Self.smaller(maximumAge, Self.seconds(value))
        case "s-maxage": sharedMaximumAge = Self.smaller(sharedMaximumAge, Self.seconds(value))
        case "min-fresh": minimumFresh = Self.seconds(value)
        case "max-stale": maximumStale = value == nil ? .value(.max) : Self.seconds(value)
        case "stale-while-revalidate": staleWhileRevalidate = Self.smaller(staleWhileRevalidate, Self.seconds(value))
        case "stale-if-error": staleIfError = Self.smaller(staleIfError, Self.seconds(value))
        default: break
        }
    }

    /// Returns the value of a directive that is there twice: the shorter time is the safe one.
    private static func smaller(_ old: Seconds?, _ new: Seconds) -> Seconds {
        guard let old else { return new }
        return new.orZero < old.orZero ? new : old
    }

    private static func seconds(_ value: String?) -> Seconds {
        value.flatMap(seconds).map(Seconds.value) ?? .invalid
    }

    /// Returns a number of seconds; nil for a text that is not of digits alone.
    package static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text.utf8 {
            guard byte.isDigit else { return nil }
            value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), maximumSeconds)
        }
        return value
    }

    /// Splits a field at the commas outside quotes. A name is in lower case, and a value is without its quotes.
    static func directives(in field: String) -> [(name: String, value: String?)] {
        ListElements(field).compactMap { element in
            guard let equals = element.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                return (element.lowercased(), nil)
            }
            let value = element[element.utf8.index(after: equals)...]
            return (element[..<equals].lowercased(), unquoted(value))
        }
    }

    private static func unquoted(_ value: Substring) -> String {
        guard value.utf8.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else { return String(value) }
        var text = ""
        var isEscaped = false
        for character in value.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                isEscaped = false
                text.append(character)
            }
        }
        return text
    }
}

/// The elements of a field whose value is a list (RFC 9110 section 5.6.1), without the blanks around them and without empty
/// ones. A comma in quotes does not end an element.
package struct ListElements: Sequence {
    private let elements: [String]

    package init(_ field: String) {
        var field = field
        elements = field.withUTF8(ListElements.elements)
    }

    private static func elements(_ bytes: UnsafeBufferPointer<UInt8>) -> [String] {
        var elements: [String] = []
        func add(_ element: Range<Int>) {
            let element = UnsafeBufferPointer(rebasing: bytes[element].trimmed)
            if !element.isEmpty { elements.append(String(decoding: element, as: UTF8.self)) }
        }
        var start = 0
        var (isQuoted, isEscaped) = (false, false)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: ","), !isQuoted {
                add(start..<index)
                start = index + 1
            } else if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\"), isQuoted {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
        }
        add(start..<bytes.count)
        return elements
    }

    package func makeIterator() -> Array<String>.Iterator { elements.makeIterator() }
}
