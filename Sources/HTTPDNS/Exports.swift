// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@_exported public import HTTPDNSCore
// The types that requests and settings use, so that one import is enough.
@_exported public import HTTPDNSPrimitives
@_exported public import HTTPTypes
