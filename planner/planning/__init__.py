"""A BoundQuery to a Plan: releases, mechanism, sampling, selection of groups."""
