// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Users of the resolver and authors of providers need addresses and clocks. One import suffices.
@_exported public import HTTPDNSPrimitives
