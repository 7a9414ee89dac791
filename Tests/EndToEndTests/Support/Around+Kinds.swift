// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import ServerRig

extension Around {
    /// Writes when a request passes and when its response comes back.
    static func recorder(_ name: String, _ journal: Journal<String>) -> Around {
        Around { request, context, next in
            journal.write("\(name) > \(request.url)")
            do {
                let response = try await next(request, context)
                journal.write("\(name) < \(response.status.code)")
                return response
            } catch {
                journal.write(
                    "\(name) ! \((error as? HTTPDNSClientError).map { "\($0.code)" } ?? "\(type(of: error))")"
                )
                throw error
            }
        }
    }

    /// Follows redirects by itself, a hop for each, as a caller's own stage may do.
    static let followingRedirects = Around { request, context, next in
        var request = request
        for _ in 0..<5 {
            let response = try await next(request, context)
            guard response.status.kind == .redirection, let place = response.headerFields[.location] else {
                return response
            }
            try await response.text()
            request.url = place
        }
        return try await next(request, context)
    }
}
