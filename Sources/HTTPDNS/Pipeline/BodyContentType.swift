// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

/// The `Content-Type` that a request has from its body, so that it is not taken for the request's own field.
enum BodyContentType: HTTPDNSClient.RequestProperty {
    typealias Value = String

    /// Whether the field has yet to be set from the body: it is missing, or is that of an earlier body.
    static func isMissing(in request: HTTPDNSClient.Request) -> Bool {
        guard let type = request.body.contentType else { return false }
        guard let value = request.headerFields[.contentType] else { return true }
        return value != type && value == request[BodyContentType.self]
    }

    /// Whether the field is missing, or is that of a body that an interceptor has removed.
    static func isOutdated(in request: HTTPDNSClient.Request) -> Bool {
        if isMissing(in: request) { return true }
        guard request.own != nil, request.body.isEmpty, let type = request[BodyContentType.self] else { return false }
        return request.headerFields[.contentType] == type
    }

    /// Sets the field from the body. An interceptor sees it then, and keeps it when it replaces the body by bytes.
    static func add(to request: inout HTTPDNSClient.Request) {
        request.headerFields[.contentType] = request.body.contentType
        request[BodyContentType.self] = request.body.contentType
    }
}
