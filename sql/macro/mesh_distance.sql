-- Mean number of links between two random places of a mesh, along its rows and its columns.
CREATE MACRO mesh_distance(mesh_rows, mesh_columns) AS
    (mesh_rows * mesh_rows - 1e0) / NULLIF(3e0 * mesh_rows, 0e0) + (mesh_columns * mesh_columns - 1e0) / NULLIF(3e0 * mesh_columns, 0e0);
