// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPDNSClient.RequestPredicate {
    /// Returns the condition that the body is JSON equal to this text as a value: the order of keys and white space do not
    /// matter, the order of arrays does. A text that is not JSON is fulfilled by no body.
    public static func body(
        json text: String,
        upTo limit: HTTPDNSByteCount = defaultBodyLimit
    ) -> HTTPDNSClient.RequestPredicate {
        let expected = JSONValue(Array(text.utf8))
        return body("JSON body", upTo: limit) { bytes in
            guard let expected else { return false }
            return JSONValue(bytes) == expected
        }
    }
}

extension HTTPDNSClient.RequestPredicate {
    /// Returns the condition that the body is JSON equal to this value, encoded now by Foundation's `JSONEncoder`. A value that
    /// cannot be encoded fails each evaluation with ``HTTPDNSClientError/Code/configuration``.
    public static func json(
        _ value: some Encodable,
        upTo limit: HTTPDNSByteCount = defaultBodyLimit
    ) -> HTTPDNSClient.RequestPredicate {
        do {
            return body(json: String(decoding: try JSONEncoder().encode(value), as: UTF8.self), upTo: limit)
        } catch {
            let failure = HTTPDNSClientError.configuration(
                "the value of a predicate, of type \(type(of: value)), cannot be encoded as JSON",
                hint: "the encoder's error is in underlying",
                underlying: error
            )
            return custom("JSON body") { [failure] _ in throw failure }
        }
    }
}

/// A JSON value that is compared without the order of its keys.
private enum JSONValue: Hashable, Sendable, Decodable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return nil }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            // A Double has 53 bits: identifiers above would be equal to their neighbors.
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}
