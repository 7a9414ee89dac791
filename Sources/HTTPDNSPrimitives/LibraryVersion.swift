// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The version of this package, as shown by programs and diagnostics.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
