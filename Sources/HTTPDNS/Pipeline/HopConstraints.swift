// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The constraints of a redirect or a retry on the next hop, besides its request.
struct HopConstraints: Sendable {
    /// The network scope of the server that issued the redirect; `nil` for the caller's own URL.
    var redirectedFrom: HTTPDNSAddressPolicy.Scope?
    /// Whether the hop is for another origin than the caller's.
    var isForeign = false
    /// Whether a redirect of the call has led from one site to another, see ``CookieSites``.
    var hasCrossedSites = false
    /// Whether the hop repeats an earlier one, after a failure or an error response.
    var isRetry = false
    /// Whether the hop was repeated because a loop of the transport could not send it.
    var isOnAnotherLoop = false
    /// The endpoint of the try before, which a retry does not prefer.
    var avoided: HTTPDNSEndpoint?
    /// The time, on the resolver's clock, before which answers of providers are too old for this hop.
    var freshAfter: MonotonicTime?
    /// The header fields that were dropped on earlier hops.
    var droppedFields: [HTTPField.Name] = []
}
