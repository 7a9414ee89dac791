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
    /// The length of the body (CURLOPT_UPLOAD, CURLOPT_INFILESIZE_LARGE), -1 if it is unknown; `nil` without a body.
    var bodyLength: Int64?
    /// Whether the response has no body (CURLOPT_NOBODY).
    var isHead = false
    /// The method (CURLOPT_CUSTOMREQUEST); `nil` for libcurl's own, which is GET, HEAD, or PUT with a body.
    var name: String?
}

extension MethodOptions {
    /// Returns the options of a request. It is no initializer: that would get a copy of the request.
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for a request that libcurl cannot send.
    static func of(_ request: TransferRequest) throws(TransferFailure) -> MethodOptions {
        var options = MethodOptions()
        switch request.body {
        case .none:
            guard request.method != .get else { return options }
            options.isHead = request.method == .head
            if !options.isHead { options.name = request.method.rawValue }
            return options
        case .bytes(let bytes):
            options.bodyLength = Int64(bytes.count)
        case .stream(let length, _):
            if length == nil, request.versions == .http10Only {
                throw EasyHandle.refusal("a body of unknown length over HTTP/1.0, which knows no chunks")
            }
            options.bodyLength = length ?? -1
        }
        // libcurl sends a body only with methods whose responses it expects to have a body, and would wait for that body.
        guard request.method != .head else {
            throw EasyHandle.refusal("a HEAD request with a body (RFC 9110 section 9.3.2 gives it no meaning)")
        }
        if request.method != .put { options.name = request.method.rawValue }
        return options
    }
}

extension EasyHandle {
    /// Sets the options of the request's method and body, as far as they differ from those of the handle's last transfer.
    func setMethod(of request: TransferRequest) throws(TransferFailure) {
        let (old, new) = (methodOptions, try MethodOptions.of(request))
        guard new != old else { return }
        do throws(TransferFailure) {
            // libcurl derives the method from the option that was set last, so the old one ends before the new one begins.
            if old.isHead, !new.isHead { set(CURLOPT_NOBODY, 0) }
            if (old.bodyLength == nil) != (new.bodyLength == nil) { set(CURLOPT_UPLOAD, new.bodyLength == nil ? 0 : 1) }
            if new.isHead, !old.isHead { set(CURLOPT_NOBODY, 1) }
            if let length = new.bodyLength, length != old.bodyLength {
                set(CURLOPT_INFILESIZE_LARGE, offset: length)
            }
            if old.name != new.name {
                if let name = new.name {
                    try setText(CURLOPT_CUSTOMREQUEST, name, of: "method")
                } else {
                    set(CURLOPT_CUSTOMREQUEST, nil)
                }
            }
            methodOptions = new
        } catch {
            needsReset = true
            throw error
        }
    }
}
