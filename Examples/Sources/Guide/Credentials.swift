// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Credentials for origins.
enum Credentials {
    static func set(in configuration: inout HTTPDNSClient.Configuration, for origin: HTTPDNSClient.Origin) {
        configuration.credentials[origin] = .basic(user: "me", password: .file("/run/secrets/api"))
    }
}
