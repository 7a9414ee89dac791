// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The libcurl options that depend on a request's method and body. The default values are those of a plain GET, and of a handle
/// after a reset.
///
/// A handle keeps them between its transfers: each transfer sets only the differences, so that a POST costs no reset of all
/// options.
struct MethodOptions: Equatable {
    /// The length of a body that libcurl asks for (CURLOPT_UPLOAD, CURLOPT_INFILESIZE_LARGE), -1 if it is unknown; `nil` without
    /// such a body.
    var bodyLength: Int64?
    /// Whether libcurl has the body beforehand, and sends it together with the head (CURLOPT_POSTFIELDS).
    ///
    /// libcurl quirk: A body follows its head (7.88.1; not 8.14.1). libcurl sends a body that it asks for in a packet of its
    /// own (`Curl_http_bodysend`). Bodies in memory of at most 15 KiB are passed beforehand. Tests: ShortBodyTests,
    /// ReusedHandleTests, TransportDeadlineTests.
    var sendsBodyWithHead = false
    /// Whether the response has no body (CURLOPT_NOBODY).
    var isHead = false
    /// The method (CURLOPT_CUSTOMREQUEST); `nil` for libcurl's own, which is GET, HEAD, or PUT with a body.
    var name: String?
}

extension MethodOptions {
    /// The maximum length of a body that is sent together with the head: with a usual head both fit into one TLS record.
    static let maximumWithHead = 15 * 1024

    /// Returns the options of a request. It is no initializer: that would get a copy of the request.
    /// - Parameter isOverHTTP1: Whether the request will be sent over HTTP/1.x, as far as is known.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for a request that libcurl cannot send.
    static func of(_ request: TransferRequest, isOverHTTP1: Bool) throws(TransferFailure) -> MethodOptions {
        var options = MethodOptions()
        switch request.body {
        case .none:
            guard request.method != .get else { return options }
            options.isHead = request.method == .head
            if !options.isHead { options.name = request.method.rawValue }
            return options
        case .bytes(let bytes):
            // The body of a request with an expectation waits for the server's response to the head.
            options.sendsBodyWithHead =
                isOverHTTP1 && 1...maximumWithHead ~= bytes.count && !request.headerFields.contains(.expect)
            if !options.sendsBodyWithHead { options.bodyLength = Int64(bytes.count) }
        case .stream(let length, _):
            if length == nil, request.versions == .http10Only {
                throw EasyHandle.refusal("a body of unknown length over HTTP/1.0, which knows no chunks")
            }
            options.bodyLength = length ?? -1
        }
        // libcurl quirk: HEAD with a body (7.88.1). libcurl would wait for the body of the response. Such a request is refused.
        // Tests: TransportAnswerTests.
        guard request.method != .head else {
            throw EasyHandle.refusal("a HEAD request with a body (RFC 9110 section 9.3.2 gives it no meaning)")
        }
        if request.method != .put || options.sendsBodyWithHead { options.name = request.method.rawValue }
        return options
    }
}
