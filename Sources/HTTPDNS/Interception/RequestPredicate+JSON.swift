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
        let expected = CodableJSON(Array(text.utf8))
        return body("JSON body", upTo: limit) { bytes in
            guard let expected else { return false }
            return CodableJSON(bytes) == expected
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
