// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// A provider over a table of your own, such as that of a control plane.
struct TableProvider: HTTPDNSProvider {
    let name: String
    /// All addresses of each name that exists.
    let table: [HTTPDNSName: [HTTPDNSAddress]]

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        HTTPDNSProviderAnswer(table[query.host], timeToLive: .seconds(30), to: query)
    }
}
