// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension HTTPDNSClient.Request.Body {
    /// Returns a value as JSON, encoded by Foundation's `JSONEncoder` with its defaults. It sets the content type
    /// `application/json`, unless the request has one. For other dates, keys or order, encode the value yourself and
    /// use ``bytes(_:)``.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest` and the encoder's error in `underlying`.
    public static func json(_ value: some Encodable) throws(HTTPDNSClientError) -> HTTPDNSClient.Request.Body {
        do {
            return HTTPDNSClient.Request.Body(
                .bytes(Array(try JSONEncoder().encode(value))),
                contentType: "application/json"
            )
        } catch {
            throw HTTPDNSClientError(
                code: .invalidRequest,
                phase: .request,
                message: "the request's body, a value of type \(type(of: value)), cannot be encoded as JSON",
                hint: "the encoder's error is in underlying",
                mayHaveBeenSent: false,
                underlying: error
            )
        }
    }
}

extension HTTPDNSClient.Response.Body {
    /// Reads the whole body and decodes it with Foundation's `JSONDecoder` and its defaults. The caller checks status
    /// and content type.
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - limit: The longest body that is read.
    /// - Throws: ``HTTPDNSClientError``, with code `decodingFailed` and the decoder's error in `underlying` when the
    ///   body is not JSON of that type; `CancellationError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        upTo limit: HTTPDNSByteCount = .mebibytes(16)
    ) async throws -> Value {
        let bytes = try await collect(upTo: limit)
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw HTTPDNSClientError.body(
                .decodingFailed,
                on: hop,
                "is no JSON of type \(type)",
                hint: "the decoder's error is in underlying; look at the status first",
                underlying: error
            )
        }
    }
}
