// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

/// The `Content-Type` that a request has from its body, so that it is not taken for the request's own field.
private enum BodyContentType: HTTPDNSClient.RequestProperty {
    typealias Value = String
}

extension HTTPDNSClient.Request {
    /// Whether the field `Content-Type` has yet to be set from the body: it is missing, or is that of an earlier body.
    var lacksBodyContentType: Bool {
        guard let type = body.contentType else { return false }
        guard let value = headerFields[.contentType] else { return true }
        return value != type && value == self[BodyContentType.self]
    }

    /// Sets the field from the body. An interceptor sees it then, and keeps it when it replaces the body by bytes.
    mutating func addBodyContentType() {
        headerFields[.contentType] = body.contentType
        self[BodyContentType.self] = body.contentType
    }

    /// Whether the field is that of a body that an interceptor has removed.
    var hasContentTypeOfNoBody: Bool {
        guard own != nil, body.isEmpty, let type = self[BodyContentType.self] else { return false }
        return headerFields[.contentType] == type
    }
}
