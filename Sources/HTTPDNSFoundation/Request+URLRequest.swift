// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import Foundation
public import FoundationNetworking
public import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Request {
    /// Creates a request for a URL of Foundation.
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The absolute http or https URL. A relative one is resolved against its base.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public init(
        method: HTTPRequest.Method = .get,
        url: URL,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body = .none
    ) {
        self.init(method: method, url: url.absoluteString, headerFields: headerFields, body: body)
    }

    /// Creates a request from one of Foundation.
    ///
    /// | property | use |
    /// | --- | --- |
    /// | `url`, `httpMethod` | URL and method |
    /// | `allHTTPHeaderFields` | the header fields; `Host` becomes ``HTTPDNS/HTTPDNSClient/Request/Options/hostHeader`` |
    /// | `httpBody` | the body, which can be sent again |
    /// | `httpBodyStream` | the body, which is sent once. A `Content-Length` field is its length |
    /// | `timeoutInterval` | ``HTTPDNS/HTTPDNSClient/Timeouts/total``: the time for the call with its body |
    /// | `httpShouldHandleCookies` | ``HTTPDNS/HTTPDNSClient/Request/Options/usesCookies`` |
    /// | `cachePolicy` | a `Cache-Control` field, unless the request has one |
    /// | the rest | ignored |
    ///
    /// The policies that ignore stored responses, and the one that validates them, become `no-cache`: a response cache validates
    /// what it has, or asks the server. `returnCacheDataElseLoad` becomes `max-stale`, and `returnCacheDataDontLoad` becomes
    /// `only-if-cached, max-stale`. A client without a response cache sends all of them to the server.
    ///
    /// A `timeoutInterval` of 60 s, which is the default of Foundation, of 0 or less, and one above 10^10 s (317 years) mean the
    /// limits of the client. Foundation counts the interval between two packets; the client counts the whole call,
    /// and then has no ``HTTPDNS/HTTPDNSClient/Timeouts/responseHead``.
    ///
    /// The stream belongs to the request from now on. It is opened, read and closed on a thread of its own while the request is
    /// sent, so that it may block. An error of the stream fails the request with
    /// ``HTTPDNS/HTTPDNSClientError/Code/requestBodyFailed``.
    /// - Throws: ``HTTPDNS/HTTPDNSClientError`` with code `invalidRequest` for a request without a URL, and for a method, a header
    ///   field or a length that cannot be sent.
    public init(_ request: URLRequest) throws {
        guard let url = request.url else {
            throw HTTPDNSClientError.invalid("it has no URL", hint: "set its url")
        }
        let name = request.httpMethod ?? "GET"
        guard let method = HTTPRequest.Method(rawValue: name) else {
            throw HTTPDNSClientError.invalid(
                "its method is not a token (RFC 9110 section 5.6.2)",
                hint: "set httpMethod to a name such as GET"
            )
        }
        self.init(method: method, url: url)
        var length: Int64?
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            switch name.lowercased() {
            case "host": changeOptions { $0.hostHeader = value }
            // The client sends the length of the body itself.
            case "content-length": length = try HTTPDNSClient.Request.length(value)
            default: headerFields.append(try HTTPDNSClient.Request.field(name, value))
            }
        }
        if let directive = request.cachePolicy.directive, !headerFields.contains(.cacheControl) {
            headerFields[.cacheControl] = directive
        }
        if let data = request.httpBody {
            body = .bytes(Array(data))
        } else if let stream = request.httpBodyStream {
            body = .stream(length: length, InputStreamChunks(stream))
        }
        let interval = request.timeoutInterval
        if interval > 0, interval <= 1e10, interval != 60 {
            changeOptions {
                $0.timeouts.total = .seconds(interval)
                $0.timeouts.responseHead = nil
            }
        }
        if !request.httpShouldHandleCookies { changeOptions { $0.usesCookies = false } }
    }

    private static func field(_ name: String, _ value: String) throws(HTTPDNSClientError) -> HTTPField {
        guard let fieldName = HTTPField.Name(name) else {
            throw HTTPDNSClientError.invalid(
                "the name of a header field is not a token (RFC 9110 section 5.6.2)",
                hint: "names are letters, digits and signs such as a hyphen"
            )
        }
        guard HTTPField.isValidValue(value) else {
            throw HTTPDNSClientError.invalid(
                "the value of the header field \(fieldName) has characters that are not allowed (RFC 9110 section 5.5)",
                hint: "remove line ends, zero bytes, and spaces at the start and end"
            )
        }
        return HTTPField(name: fieldName, value: value)
    }

    private static func length(_ value: String) throws(HTTPDNSClientError) -> Int64 {
        guard let length = Int64(digits: value) else {
            throw HTTPDNSClientError.invalid(
                "its Content-Length is not a number of bytes",
                hint: "remove the field; a stream without a length is sent in chunks"
            )
        }
        return length
    }
}

extension URLRequest.CachePolicy {
    /// The directives of a request with the same meaning; nil for those of the protocol.
    fileprivate var directive: String? {
        switch self {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            "no-cache"
        case .returnCacheDataElseLoad: "max-stale"
        case .returnCacheDataDontLoad: "only-if-cached, max-stale"
        default: nil
        }
    }
}

extension HTTPDNSClientError {
    /// Returns the error for a request of Foundation that cannot be sent.
    fileprivate static func invalid(_ reason: String, hint: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .invalidRequest,
            phase: .request,
            message: "the URLRequest cannot be sent: \(reason)",
            hint: hint
        )
    }
}
